// What people and the agent say: inputs, answers, thoughts.

import { useState } from "preact/hooks";
import { t } from "../../i18n";
import { authorOf, isMe } from "../../state/together";
import type { AssistantTextRow, ReasoningRow, UserInputRow } from "../../wire/types";
import { Action, Editor, Feedback } from "./Actions";
import { Attachments } from "./Attachments";
import { firstLine } from "./clip";
import { Copy } from "./Copy";
import { Long } from "./Cut";
import { Icon } from "./Icon";
import { inert, plain } from "./inert";
import { Markdown } from "./Markdown";
import { duration } from "./units";
import { useView } from "./view";

export function UserInput({ row }: { row: UserInputRow }) {
  const [editing, edit] = useState(false);
  const by = row.sourceCommandId ? authorOf(row.sourceCommandId).value : null;
  const author = by && !isMe(by) ? by.name : ""; // what one asked oneself needs no name
  const origin = row.origin === "realUser" ? author : t(`rows.origin.${row.origin}`);
  return (
    <article class={row.origin === "realUser" ? "input" : "input machine"} aria-label={t("rows.inputBy", { name: plain(origin || t("rows.somebody")) })}>
      {(origin || row.guided) && (
        <header>
          {origin && <><Icon of={row.origin === "realUser" ? "person" : "mark"} /><span>{inert(origin)}</span></>}
          {row.guided && <span class="badge">{t("rows.guided")}</span>}
        </header>
      )}
      {editing ? <Editor row={row} onDone={() => edit(false)} /> : <Long text={row.text}>{(part) => <p class="said" dir="auto">{inert(part)}</p>}</Long>}
      {row.attachments && <Attachments list={row.attachments} row={row} />}
      {!editing && (
        <footer>
          <Copy text={() => row.text} label={t("rows.copyInput")} />
          {row.actions?.canEdit && <Action of="edit" label={t("rows.edit")} onPress={() => edit(true)} />}
        </footer>
      )}
    </article>
  );
}

export function AssistantText({ row }: { row: AssistantTextRow }) {
  const last = row.actions?.canFork || row.actions?.canRetry || row.state === "interrupted" || row.state === "failed";
  return (
    <article class="says" aria-label={t("rows.agent")} aria-busy={row.state === "streaming"}>
      <Markdown text={row.text} />
      {(row.state === "interrupted" || row.state === "failed") && <p class="faint">{t(`rows.text.${row.state}`)}</p>}
      {last && (
        <footer>
          <Copy text={() => row.text} label={t("rows.copyAnswer")} />
          {row.actions?.canRetry && <Action of="retry" label={t("rows.retry")} row={row} command="retryTurn" />}
          {row.actions?.canFork && <Action of="fork" label={t("rows.fork")} row={row} command="forkAssistant" />}
          {row.state === "complete" && <Feedback row={row} />}
          {row.model && <span class="faint">{inert(row.model)}</span>}
        </footer>
      )}
    </article>
  );
}

export function Reasoning({ row }: { row: ReasoningRow }) {
  const view = useView();
  const open = view.isOpen(row.rowId, false);
  const busy = row.state === "streaming";
  // While it streams the newest words are the news, afterwards how it began tells one thought from another.
  const preview = busy ? row.text.slice(-160).replace(/\s+/g, " ") : firstLine(row.text, 160);
  return (
    <section class={busy ? "thought busy" : "thought"}>
      <button type="button" class="head" aria-expanded={open} onClick={() => view.open(row.rowId, !open)}>
        <Icon of={busy ? "busy" : "thought"} />
        <span class="name">{busy ? t("rows.thinking") : t("rows.thought")}</span>
        {row.durationMs !== undefined && <span class="note">{duration(row.durationMs)}</span>}
        {!open && <span class={busy ? "what end" : "what"} dir="auto">{inert(preview)}</span>}
        <Icon of="fold" />
      </button>
      {open && <div class="body"><Markdown text={row.text} /></div>}
    </section>
  );
}
