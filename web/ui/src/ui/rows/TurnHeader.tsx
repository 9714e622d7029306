import { t } from "../../i18n";
import type { ToolCallRow, TurnHeaderRow } from "../../wire/types";
import { Icon } from "./Icon";
import { inert } from "./inert";
import type { Item } from "./items";
import { nameOf } from "./tools";
import { duration, tokens } from "./units";
import { useView } from "./view";
import { Lasting, When } from "./When";

// TurnHeader stands between turns: when it began, how it went, how long it took.
export function TurnHeader({ row }: { row: TurnHeaderRow }) {
  const view = useView();
  const running = row.state === "running";
  const folds = !running && view.hasFolds(row.rowId);
  const steps = view.stepsOpen(row.turnId) ?? false;
  return (
    <div class={`turn ${row.state}`}>
      <When at={row.startedAt} />
      {row.origin !== "userInput" && <span>{t(`rows.turn.${row.origin}`)}</span>}
      <span class="how">
        {running && <><Icon of="busy" /> {t("rows.turn.running")} <Lasting from={row.startedAt} /></>}
        {row.state === "completedSuccess" && <>{duration(row.activeMs ?? (row.endedAt ?? row.startedAt) - row.startedAt)}</>}
        {row.state === "completedInterrupted" && <><Icon of="stopped" /> {t("rows.turn.interrupted", { time: took(row) })}</>}
        {row.state === "failed" && <><Icon of="failed" /> {t("rows.turn.failed", { time: took(row) })}</>}
      </span>
      {row.outputTokens !== undefined && <span>{t("rows.tokens", { n: tokens(row.outputTokens) })}</span>}
      {row.fileChanges?.state === "reverted" && <span>{t("rows.reverted")}</span>}
      {folds && <button type="button" class="text-button" aria-expanded={steps} onClick={() => view.openSteps(row.turnId, !steps)}>{steps ? t("rows.hideSteps") : t("rows.showSteps")}</button>}
    </div>
  );
}

const took = (row: TurnHeaderRow) => duration(row.activeMs ?? (row.endedAt ?? row.startedAt) - row.startedAt);

// Fold stands for a run of steps: which tools, how often, what went wrong.
export function Fold({ item }: { item: Item }) {
  const view = useView();
  const rows = item.rows.map((id) => view.conversation.row(id).value);
  const open = view.foldOpen(item.key, rows[0]!.turnId);
  const calls = rows.filter((r): r is ToolCallRow => r.kind === "toolCall");
  const names = new Map<string, number>();
  for (const c of calls) names.set(nameOf(c.toolName), (names.get(nameOf(c.toolName)) ?? 0) + 1);
  const failed = calls.filter((c) => c.status === "error").length;
  return (
    <button type="button" class="fold-line" aria-expanded={open} onClick={() => view.open(item.key, !open)}>
      <Icon of="fold" />
      <span class="name">{t("rows.steps", { n: rows.length })}</span>
      <span class="what">{inert([...names].map(([name, n]) => (n > 1 ? `${name} ×${n}` : name)).join(", "))}</span>
      {failed > 0 && <span class="note bad">{t("rows.failedSteps", { n: failed })}</span>}
    </button>
  );
}
