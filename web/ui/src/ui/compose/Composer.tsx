import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { uploads } from "../../state/attachments";
import { arrived, pendingPrompts, outbox, type Delivery } from "../../state/commands";
import type { Conversation } from "../../state/conversation";
import { drafts } from "../../state/drafts";
import { lastHello, may } from "../../state/link";
import { learn, presentationOf } from "../../state/presentation";
import { Steering } from "../../state/steering";
import { controlHeldBy } from "../../state/together";
import { live } from "../../wire/link";
import type { Head } from "../../wire/types";
import { ControlBar } from "../together/ControlBar";
import { Editor } from "./Editor";
import { Files, take, useFilePicker } from "./Files";
import { Fold, Down, Plus, Send, Stop } from "./icons";
import { enterSends, watchKeyboard } from "./keyboard";
import { Item, Menu } from "./Menu";
import { Pending } from "./Pending";
import { Queue } from "./Queue";
import { ModelMenu, ModeMenu } from "./Settings";
import { modes, ownCommands } from "./slash";
import { filesOf, resend, submit, takeBack, unfinished, type How } from "./submit";
import { fateText, reason } from "./words";

// All that steers a session, at its foot: what is on its way, the queue, the goal, and the field to write in.
export function Composer({ conversation }: { conversation: Conversation }) {
  const steering = useMemo(() => new Steering(conversation), [conversation]);
  const seen = useMemo(() => arrived(conversation), [conversation]);
  const pending = useMemo(() => pendingPrompts(conversation, seen), [conversation, seen]);
  useEffect(watchKeyboard, []);

  // What has arrived needs no keeping.
  useEffect(() => seen.subscribe((ids) => {
    for (const c of outbox.of(conversation.id).peek()) {
      const { kind } = c.fate.peek();
      if (ids.has(c.id) && (kind === "accepted" || kind === "queued")) outbox.forget(c);
    }
  }), [conversation, seen]);

  if (conversation.state.value === "gone") return null;
  const head = conversation.head.value;
  const helper = conversation.id.startsWith("sess_subagent_"); // the agent refuses whatever is sent to one
  const steers = !helper && (lastHello.value === null || may("control")); // a page that has not heard from the hub keeps what is typed
  return (
    <section class="composer" aria-label={t("compose.label")}>
      {head?.goal && <GoalLine head={head} steering={steering} editable={steers} />}
      {head && <Queue head={head} steering={steering} editable={steers} />}
      {steers ? <Writer conversation={conversation} steering={steering} pending={pending.value} /> : <Looker helper={helper} />}
    </section>
  );
}

// Why there is nothing to write in.
function Looker({ helper }: { helper: boolean }) {
  if (helper) return <p class="looker">{t("compose.looker.helper")}</p>;
  return (
    <p class="looker">
      {t(may("answer") ? "compose.looker.answer" : "compose.looker.view")} {t("compose.looker.ask")}
    </p>
  );
}

function GoalLine({ head, steering, editable }: { head: Head; steering: Steering; editable: boolean }) {
  const goal = head.goal!;
  const { pauseGoal, resumeGoal } = head.availability;
  return (
    <p class="goal-line">
      <b>{t("compose.goal")}</b>
      <span class="goal-text">{goal.summaryTitle ?? goal.objective}</span>
      <small>{t(`compose.goal.${goal.status}`)}</small>
      {editable && pauseGoal.allowed && <button type="button" class="text-button" onClick={() => steering.pauseGoal()}>{t("compose.goal.pause")}</button>}
      {editable && resumeGoal.allowed && <button type="button" class="text-button" onClick={() => steering.resumeGoal()}>{t("compose.goal.resume")}</button>}
    </p>
  );
}

function Writer({ conversation, steering, pending }: { conversation: Conversation; steering: Steering; pending: ReturnType<typeof pendingPrompts>["value"] }) {
  const id = conversation.id;
  const field = useRef<HTMLTextAreaElement>(null);
  const [asking, ask] = useState<How | null>(null); // a prompt that waits for a word on the held queue
  const [problem, setProblem] = useState("");
  const [dragging, drag] = useState(false);
  const head = conversation.head.value;
  const draft = drafts.of(id);
  const text = draft.value.text;
  const list = uploads.of(id).value;
  const files = filesOf(draft.value, list);
  const waits = unfinished(list);
  const presentation = presentationOf(id).value;
  const holder = controlHeldBy(id);
  const { inputs, lines } = useFilePicker(addFiles);

  // Committed files are part of the draft, so that a reload keeps them.
  useEffect(() => {
    if (JSON.stringify(files) !== JSON.stringify(draft.peek().files ?? [])) draft.value = { ...draft.peek(), files };
  }, [files.length]);
  useEffect(() => { if (live.value) void learn(id); }, [id, live.value]);

  function addFiles(more: File[]): void {
    const left = take(id, id, more);
    setProblem(left > 0 ? t("compose.file.tooMany", { n: 10 }) : "");
    field.current?.focus();
  }

  function sendNow(how: How = {}): void {
    if (blocked) return;
    if (head?.inputRouting.mode === "choice" && !how.held && !text.trim().startsWith("/")) return ask(how);
    ask(null);
    const done = submit(conversation, steering, how);
    setProblem(done === "unknownMode" ? t("compose.slash.unknownMode", { mode: text.trim().split(/\s+/)[1] ?? "", modes: modes.join(", ") }) : "");
    field.current?.focus();
  }

  const running = head?.control.canStop ?? false;
  const routing = head?.inputRouting;
  const blocked = waits > 0 ? t("compose.filesFirst", { n: waits })
    : holder ? t("compose.why.held", { who: holder.name })
    : routing?.mode === "reject" ? (routing.reasonCode ? reason(routing.reasonCode) : t("compose.cannotSend")) : "";
  const empty = !text.trim() && files.length === 0;
  const verb = routing?.mode === "enqueue" ? "compose.queue" : routing?.mode === "guide" ? "compose.guide" : "compose.send";
  const model = presentation?.models.find((m) => m.ref.modelId === head?.config.model);
  const blind = files.some((f) => f.mime.startsWith("image/")) && model?.properties?.inputFormat?.supportsImage === false;

  return (
    <form class={dragging ? "writer dragging" : "writer"} onSubmit={(e) => { e.preventDefault(); sendNow(); }}
      onDragOver={(e) => { e.preventDefault(); drag(true); }} onDragLeave={() => drag(false)}
      onDrop={(e) => { e.preventDefault(); drag(false); addFiles([...(e.dataTransfer?.files ?? [])]); }}>
      <Pending commands={pending} onEdit={(c) => { takeBack(id, c); field.current?.focus(); }}
        onHeld={(c, keep) => resend(conversation, c, keep ? "keepQueueAndSend" : "clearQueueAndSend")} />
      <ControlBar sessionId={id} />
      {asking && head && <HeldChoice n={head.queue.items.length} onCancel={() => ask(null)}
        onChoose={(held) => sendNow({ ...asking, held })} />}
      <NoteLine steering={steering} />
      <p class="composer-problem" role="alert">{problem || (blind && t("compose.noPictures", { model: model!.label }))}</p>
      <div class="compose-box">
        <Files draftKey={id} sessionId={id} />
        <Editor field={field} text={text} label={t("compose.label")} commands={[...(presentation?.slashCommands ?? []), ...ownCommands()]}
          placeholder={dragging ? t("compose.drop") : t(running ? "compose.placeholderRunning" : "compose.placeholder")}
          onText={(v) => { draft.value = { ...draft.peek(), text: v }; if (problem) setProblem(""); }} onSend={() => sendNow()} onFiles={addFiles}
          onFocus={() => void learn(id)} />
        <div class="tools">
          <Menu name={t("compose.more")} face={<Plus />} class="icon-button">
            {(close) => <>{lines(close)}{head && <MoreItems head={head} steering={steering} close={close} />}</>}
          </Menu>
          {head && <ModeMenu config={head.config} steering={steering} />}
          {head && <ModelMenu head={head} steering={steering} />}
          <span class="space" />
          {running && <StopButton head={head!} steering={steering} small={!empty} />}
          {!(running && empty) && (
            <span class="sender">
              <button type="submit" class="primary send" disabled={empty || !!blocked} title={blocked || undefined}><Send />{t(verb)}</button>
              {running && <SendMenu disabled={empty || !!blocked} onSend={(delivery) => sendNow({ delivery })} />}
            </span>
          )}
        </div>
        {blocked && !empty && <p class="composer-why">{blocked}</p>}
      </div>
      {inputs}
    </form>
  );
}

// The other ways to send while a turn runs.
function SendMenu({ disabled, onSend }: { disabled: boolean; onSend: (delivery: Delivery) => void }) {
  return (
    <Menu name={t("compose.howToSend")} face={<Down />} class="primary send-more" disabled={disabled}>
      {(close) => (
        <>
          <Item label={t("compose.sendQueue")} hint={t("compose.sendQueueHint")} onPick={() => { close(); onSend("queue"); }} />
          <Item label={t("compose.sendGuide")} hint={t("compose.sendGuideHint")} onPick={() => { close(); onSend("guide"); }} />
        </>
      )}
    </Menu>
  );
}

function MoreItems({ head, steering, close }: { head: Head; steering: Steering; close: () => void }) {
  const { compact, setFollowupMode } = head.availability;
  const followup = steering.wanted.value.followupMode ?? head.config.followupMode;
  return (
    <>
      <hr />
      <Item icon={<Fold />} label={t("compose.compact")} hint={compact.allowed ? undefined : reason(compact.reasonCode)} disabled={!compact.allowed}
        onPick={() => { close(); steering.compact(); }} />
      <h2>{t("compose.followup")}</h2>
      <div role="radiogroup" aria-label={t("compose.followup")}>
        <Item label={t("compose.sendQueue")} hint={t("compose.sendQueueHint")} checked={followup === "queue"} disabled={!setFollowupMode.allowed}
          onPick={() => { close(); steering.setFollowup("queue"); }} />
        <Item label={t("compose.sendGuide")} hint={t("compose.sendGuideHint")} checked={followup === "guide"} disabled={!setFollowupMode.allowed}
          onPick={() => { close(); steering.setFollowup("guide"); }} />
      </div>
      <hr />
      <label class="menu-item">
        <span class="menu-text"><span>{t("compose.enter")}</span><small>{t("compose.enter.hint")}</small></span>
        <input type="checkbox" checked={enterSends.value} onChange={(e) => (enterSends.value = e.currentTarget.checked)} />
      </label>
    </>
  );
}

function StopButton({ head, steering, small }: { head: Head; steering: Steering; small: boolean }) {
  const command = steering.stopping.value;
  const fate = command?.fate.value.kind;
  const stopping = head.control.stopState === "stopping" || (command !== null && fate !== "unsent");
  return (
    <button type="button" class={small ? "stop-button small" : "stop-button"} aria-busy={stopping} disabled={stopping} onClick={() => steering.stop()}>
      <Stop /><span>{t(fate === "unsent" ? "compose.stopUnsent" : stopping ? "compose.stopping" : "compose.stop")}</span>
    </button>
  );
}

function HeldChoice({ n, onChoose, onCancel }: { n: number; onChoose: (held: "keepQueueAndSend" | "clearQueueAndSend") => void; onCancel: () => void }) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div class="held-choice" role="group" aria-label={t("compose.held.question", { n })}>
      <p>{t("compose.held.question", { n })}</p>
      <div class="buttons">
        <button ref={first} type="button" onClick={() => onChoose("keepQueueAndSend")}>{t("compose.held.keep")}</button>
        <button type="button" onClick={() => onChoose("clearQueueAndSend")}>{t("compose.held.clear")}</button>
        <button type="button" onClick={onCancel}>{t("compose.cancel")}</button>
      </div>
    </div>
  );
}

// A word on a setting, a stop or a change of the queue that did not simply work.
function NoteLine({ steering }: { steering: Steering }) {
  const note = steering.note.value;
  useEffect(() => { // what needs no answer goes by itself
    if (note?.fate.kind !== "noop") return;
    const timer = setTimeout(() => steering.dismiss(), 5000);
    return () => clearTimeout(timer);
  }, [note]);
  const no = note?.fate.kind === "refused" || note?.fate.kind === "stale";
  return (
    <div class={no ? "compose-note no" : "compose-note"} role="status" hidden={!note}>
      {note && <span>{fateText(note.fate)}</span>}
      {no && <button type="button" class="text-button" onClick={() => steering.again()}>{t("compose.again")}</button>}
      {note && (no || note.fate.kind === "unsent") && (
        <button type="button" class="text-button" onClick={() => steering.dismiss()}>{t(no ? "compose.close" : "compose.takeBack")}</button>
      )}
    </div>
  );
}

