import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { send, type Command } from "../../state/commands";
import { may } from "../../state/link";
import { live } from "../../wire/link";
import type { AssistantTextRow, Row, UserInputRow } from "../../wire/types";
import { fateText, refusal } from "../compose/words";
import { go, sessionLink } from "../shell/router";
import { Icon, type Picture } from "./Icon";
import { useView } from "./view";

interface ActionProps {
  of: Picture;
  label: string;
  row?: Row;
  command?: string; // sent about the row
  onPress?: () => void;
}

// Action is a small button about a row. What becomes of its command is said beside it.
export function Action({ of, label, row, command, onPress }: ActionProps) {
  const { conversation } = useView();
  const [sent, note] = useState<Command | null>(null);
  const fate = sent?.fate.value;
  const made = fate?.kind === "accepted" ? fate.result?.sessionId : undefined;
  useEffect(() => {
    if (made && made !== conversation.id) go(sessionLink(made)); // a session that goes on from here is what was asked for
  }, [made]);
  if (!may("control")) return null;
  const press = () => {
    if (onPress) onPress();
    else if (row && command) note(send(conversation.id, command, { target: { rowId: row.rowId, entityId: row.entityId } }));
  };
  return (
    <>
      <button type="button" class="quiet" onClick={press} aria-label={label} title={label} disabled={!live.value}>
        <Icon of={of} />
      </button>
      {sent && <Fate command={sent} />}
    </>
  );
}

// Feedback is what somebody thinks of an answer, which the agent keeps with it; a second press takes it back.
export function Feedback({ row }: { row: AssistantTextRow }) {
  const { conversation } = useView();
  const [sent, note] = useState<Command | null>(null);
  if (!may("control")) return null;
  const judge = (feedback: "like" | "dislike" | null) =>
    note(send(conversation.id, "setAssistantFeedback", { target: { rowId: row.rowId, entityId: row.entityId }, feedback }, { still: () => true })); // an answer that is complete stays as it is
  return (
    <>
      {(["like", "dislike"] as const).map((worth) => (
        <button type="button" class="quiet judge" aria-pressed={row.feedback === worth} aria-label={t(`rows.${worth}`)} title={t(`rows.${worth}`)}
          disabled={!live.value} onClick={() => judge(row.feedback === worth ? null : worth)}>
          <Icon of={worth} />
        </button>
      ))}
      {sent && <Fate command={sent} />}
    </>
  );
}

// Fate is what became of a command, as long as there is something to say.
export function Fate({ command }: { command: Command }) {
  const fate = command.fate.value;
  switch (fate.kind) {
    case "unsent":
    case "sending":
    case "asking":
    case "waiting":
      return <span class="faint" role="status">{t("rows.sending")}</span>;
    case "refused":
      return <span class="bad" role="status">{t("rows.refused", { why: refusal(fate) })}</span>;
    case "stale":
    case "noop":
      return <span class="bad" role="status">{fateText(fate)}</span>;
    default:
      return null;
  }
}

// Editor changes what was asked; the conversation goes on from there, and what came after it is gone.
export function Editor({ row, onDone }: { row: UserInputRow; onDone: () => void }) {
  const { conversation } = useView();
  const [text, type] = useState(row.text);
  const [sent, note] = useState<Command | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const submit = (e: Event) => {
    e.preventDefault();
    note(send(conversation.id, "editUserQuery", { target: { rowId: row.rowId, entityId: row.entityId }, newText: text, ...(row.attachments && { attachments: row.attachments }) }));
  };
  const fate = sent?.fate.value.kind;
  useEffect(() => {
    if (fate === "accepted") onDone();
  }, [fate]);
  const busy = fate === "sending" || fate === "asking" || fate === "waiting" || fate === "unsent";
  return (
    <form class="editor" onSubmit={submit} onKeyDown={(e) => e.key === "Escape" && onDone()}>
      <textarea ref={area} value={text} rows={Math.min(12, text.split("\n").length + 1)} aria-label={t("rows.edit")} onInput={(e) => type(e.currentTarget.value)} />
      <p class="faint">{t("rows.editWarning")}</p>
      <div class="buttons">
        <button type="button" onClick={onDone}>{t("rows.cancel")}</button>
        <button type="submit" class="primary" disabled={busy || !text.trim() || !live.value}>{t("rows.sendAgain")}</button>
        {sent && <Fate command={sent} />}
      </div>
    </form>
  );
}
