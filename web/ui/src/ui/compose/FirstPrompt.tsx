import type { Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../../i18n";
import { uploads } from "../../state/attachments";
import { outbox, send } from "../../state/commands";
import { drafts } from "../../state/drafts";
import { createSession, home } from "../../state/sessions";
import { Editor } from "./Editor";
import { Files, take, useFilePicker } from "./Files";
import { Down, Plus } from "./icons";
import { Menu } from "./Menu";
import { Pending } from "./Pending";
import { ModeList } from "./Settings";
import { filesOf, takeBack } from "./submit";
import { fateText, modeName } from "./words";

const draftKey = "new";

// The first prompt of a session that is yet to be made. It may be left empty.
export function FirstPrompt({ mode }: { mode: Signal<string> }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = drafts.of(draftKey);
  const addFiles = (files: File[]) => void take(draftKey, null, files);
  const { inputs, lines } = useFilePicker(addFiles);
  const left = outbox.of(null).value.filter((c) => c.type === "createSession");
  return (
    <div class="first-prompt">
      <Pending commands={left} onEdit={(c) => { takeBack(draftKey, c); field.current?.focus(); }} />
      <div class="compose-box">
        <Files draftKey={draftKey} sessionId={null} />
        <Editor field={field} text={draft.value.text} label={t("compose.label")} placeholder={t("compose.new.placeholder")} commands={[]}
          onText={(text) => (draft.value = { ...draft.peek(), text })} onSend={() => field.current?.form?.requestSubmit()} onFiles={addFiles} />
        <div class="tools">
          <Menu name={t("compose.more")} face={<Plus />} class="icon-button">{lines}</Menu>
          <Menu name={`${t("compose.mode")}: ${modeName(mode.value)}`} class="pick" face={<>{modeName(mode.value)}<Down /></>}>
            {(close) => <ModeList mode={mode.value} onPick={(m) => { close(); mode.value = m; }} />}
          </Menu>
        </div>
      </div>
      {inputs}
    </div>
  );
}

// begin makes a session in a folder and sends it the first prompt. It resolves to the session's id, or fails in words; what
// was written is then in the form again.
export async function begin(workspaceId: string, path: string, mode: string): Promise<string> {
  const draft = drafts.of(draftKey);
  const text = draft.peek().text.trim();
  const files = uploads.of(draftKey).peek();
  if (files.length > 0) return withFiles(await createSession(path, mode), text);
  if (!text) return createSession(path, mode);
  const command = send(null, "createSession", { workspaceId, config: { mode }, firstInput: { text, mode } });
  draft.value = { text: "" };
  const fate = await outbox.outcome(command);
  const sessionId = fate.kind === "accepted" ? fate.result?.sessionId : undefined;
  if (!sessionId) {
    takeBack(draftKey, command);
    throw new Error(fateText(fate));
  }
  home(sessionId, workspaceId, path);
  return sessionId;
}

// withFiles brings files and text of the form into the session that was made for them: files belong to a session. What does
// not arrive whole waits there as a draft.
async function withFiles(sessionId: string, text: string): Promise<string> {
  const whole = await uploads.bring(draftKey, sessionId);
  const files = filesOf({ text: "" }, uploads.of(draftKey).peek());
  if (whole) send(sessionId, "sendText", { text, attachments: files });
  else drafts.of(sessionId).value = { text, files };
  drafts.of(draftKey).value = { text: "" };
  uploads.clear(draftKey);
  return sessionId;
}
