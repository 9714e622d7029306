import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { t } from "../../i18n";
import { watchAbsence, type Missed as What } from "../../state/catchup";
import type { Conversation } from "../../state/conversation";
import type { ActivityEntry } from "../../wire/types";
import { Icon } from "../shell/Icon";
import { span } from "../time";

// After an absence: one folded line that says what was missed.
export function Missed({ conversation }: { conversation: Conversation }) {
  const watch = useMemo(() => watchAbsence(conversation), [conversation]);
  useEffect(() => () => watch.stop(), [watch]);
  const missed = watch.missed.value;
  const open = useSignal(false);
  if (!missed) return null;
  const line = t("missed.line", { span: span(missed.ms), what: summary(missed).join(", ") });
  return (
    <div class="missed" role="status">
      {missed.entries.length ? (
        <details open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
          <summary>{line}</summary>
          <ul>{missed.entries.map((e) => <li key={e.n}>{told(e)}</li>)}</ul>
        </details>
      ) : (
        <span>{line}</span>
      )}
      <button type="button" class="icon-button" aria-label={t("do.dismiss")} onClick={() => (watch.missed.value = null)}><Icon name="close" /></button>
    </div>
  );
}

const who = (e: ActivityEntry) => e.by?.device || e.by?.name || "?";

function summary(missed: What): string[] {
  const parts = [missed.updates === null ? t("missed.reloaded") : missed.updates ? t("missed.updates", { n: missed.updates }) : ""];
  const kinds = [["answer", "missed.answers"], ["prompt", "missed.prompts"], ["stop", "missed.stops"]] as const;
  for (const [kind, key] of kinds) {
    const people = new Map<string, number>();
    for (const e of missed.entries) if (e.kind === kind) people.set(who(e), (people.get(who(e)) ?? 0) + 1);
    for (const [name, n] of people) parts.push(t(key, { n, who: name }));
  }
  if (missed.entries.some((e) => e.kind === "appServer")) parts.push(t("missed.restarts"));
  return parts.filter(Boolean);
}

function told(e: ActivityEntry): string {
  return t(`missed.entry.${e.kind}`, { who: who(e), summary: e.summary ?? "", tool: e.toolName ?? "", outcome: e.outcome ?? "" });
}
