import { useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { uploads } from "../../state/attachments";
import { outbox, send, settled, type Command } from "../../state/commands";
import { drafts } from "../../state/drafts";
import { Editor } from "./Editor";
import { Files, take, useFilePicker } from "./Files";
import { Down, Plus, Send } from "./icons";
import { Menu } from "./Menu";
import { Pending } from "./Pending";
import { ModeList } from "./Settings";
import { filesOf, takeBack } from "./submit";
import { modeName } from "./words";

export interface Workspace {
  id: string; // its path, or its identity
  name: string;
}

const draftKey = "new";

// Begins a session: in which folder, in which mode, and with which prompt.
export function NewSession({ workspaces, limited, onCreated }: {
  workspaces: readonly Workspace[];
  limited?: boolean; // to sessions: such a device makes none
  onCreated: (sessionId: string) => void;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [chosen, choose] = useState(workspaces[0]?.id ?? "");
  const [path, setPath] = useState("");
  const [mode, setMode] = useState<string | null>(null);
  const [command, setCommand] = useState<Command | null>(null);
  const draft = drafts.of(draftKey);
  const { inputs, lines } = useFilePicker((files) => void take(draftKey, null, files));
  if (limited) return <p class="looker">{t("compose.new.limited")}</p>;

  const workspaceId = (chosen || path).trim();
  const fate = command?.fate.value;
  const busy = fate !== undefined && !settled(fate);
  const pending = outbox.of(null).value.filter((c) => c.type === "createSession");

  async function start(): Promise<void> {
    if (!workspaceId || busy) return;
    const text = draft.peek().text.trim();
    const withFiles = uploads.of(draftKey).peek().length > 0;
    // Files belong to a session, so there has to be one before they can go. The text stays a draft until then.
    const firstInput = text && !withFiles ? { text, ...(mode && { mode }) } : undefined;
    const made = send(null, "createSession", { workspaceId, ...(firstInput && { firstInput }), ...(mode && { config: { mode } }) });
    setCommand(made);
    if (firstInput) draft.value = { text: "" };
    const end = await outbox.outcome(made);
    if (end.kind !== "accepted" || !end.result?.sessionId) return;
    const sessionId = end.result.sessionId;
    if (!firstInput) await handOver(sessionId, text, mode);
    onCreated(sessionId);
  }

  return (
    <form class="new-session writer" aria-label={t("compose.new")} onSubmit={(e) => { e.preventDefault(); void start(); }}>
      {workspaces.length > 0 && (
        <label class="field">
          <span>{t("compose.new.workspace")}</span>
          <select value={chosen} onChange={(e) => choose(e.currentTarget.value)}>
            {workspaces.map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}
            <option value="">{t("compose.new.other")}</option>
          </select>
        </label>
      )}
      {!chosen && (
        <label class="field">
          <span>{t("compose.new.path")}</span>
          <input value={path} placeholder="/" autocapitalize="off" autocomplete="off" spellcheck={false} onInput={(e) => setPath(e.currentTarget.value)} />
        </label>
      )}
      <Pending commands={pending} onEdit={(c) => { takeBack(draftKey, c); field.current?.focus(); }} />
      <div class="compose-box">
        <Files draftKey={draftKey} sessionId={null} />
        <Editor field={field} text={draft.value.text} label={t("compose.label")} placeholder={t("compose.new.placeholder")} commands={[]}
          onText={(text) => (draft.value = { ...draft.peek(), text })} onSend={() => void start()} onFiles={(files) => void take(draftKey, null, files)} />
        <div class="tools">
          <Menu name={t("compose.more")} face={<Plus />} class="icon-button">{lines}</Menu>
          <Menu name={t("compose.mode")} class="pick" words face={<><span class="unseen">{t("compose.mode")}: </span>{modeName(mode ?? "build")}<Down /></>}>
            {(close) => <ModeList mode={mode ?? "build"} onPick={(m) => { close(); setMode(m); }} />}
          </Menu>
          <span class="space" />
          <button type="submit" class="primary send" disabled={busy || !workspaceId}><Send />{t(busy ? "compose.new.starting" : "compose.new.start")}</button>
        </div>
      </div>
      {inputs}
    </form>
  );
}

// handOver brings files and text of the form into the session that was made for them, and sends them. What does not arrive
// whole waits there as a draft.
async function handOver(sessionId: string, text: string, mode: string | null): Promise<void> {
  const whole = await uploads.bring(draftKey, sessionId);
  const files = filesOf({ text: "" }, uploads.of(draftKey).peek());
  if (whole && files.length > 0) send(sessionId, "sendText", { text, attachments: files, ...(mode && { mode }) });
  else drafts.of(sessionId).value = { text, files };
  drafts.of(draftKey).value = { text: "" };
  uploads.clear(draftKey);
}
