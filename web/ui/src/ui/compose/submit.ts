// From what stands in the composer to a command.

import { uploads, type Upload } from "../../state/attachments";
import { outbox, send, type Command, type Delivery } from "../../state/commands";
import { drafts, type Draft, type KeptFile } from "../../state/drafts";
import type { Conversation } from "../../state/conversation";
import type { Steering } from "../../state/steering";
import { modes, spoken } from "./slash";

export type Held = "keepQueueAndSend" | "clearQueueAndSend";
export interface How {
  delivery?: Delivery;
  held?: Held;
}

// filesOf are the files that go with a draft: those of an earlier life of the page, then those uploaded in this one.
export function filesOf(draft: Draft, list: readonly Upload[]): KeptFile[] {
  const now = list.map((u) => u.fate.value).flatMap((f) => (f.kind === "ready" ? [f.file] : []));
  return [...(draft.files ?? []).filter((k) => !now.some((n) => n.ref === k.ref)), ...now];
}

export const unfinished = (list: readonly Upload[]): number =>
  list.filter((u) => u.fate.value.kind !== "ready" && u.fate.value.kind !== "failed").length;

// submit sends the draft and empties the composer; what was in it is in the outbox from then on. It says what is wrong if
// the text is a command of the page's own that cannot be.
export function submit(conversation: Conversation, steering: Steering, how: How = {}): "sent" | "nothing" | "unknownMode" {
  const draft = drafts.of(conversation.id);
  const text = draft.peek().text.trim();
  const files = filesOf(draft.peek(), uploads.of(conversation.id).peek());
  if (!text && files.length === 0) return "nothing";
  const said = files.length ? ({ kind: "text" } as const) : spoken(text);
  switch (said.kind) {
    case "stop":
      steering.stop();
      break;
    case "mode":
      if (!(modes as readonly string[]).includes(said.mode)) return "unknownMode";
      steering.setMode(said.mode);
      break;
    case "compact":
      steering.compact();
      break;
    case "goal":
      send(conversation.id, "sendGoalCommand", { text, ...heldQueue(conversation, how) });
      break;
    default:
      send(conversation.id, "sendText", {
        text, ...(files.length && { attachments: files }), ...(how.delivery && { requestedDelivery: how.delivery }), ...heldQueue(conversation, how),
      });
  }
  draft.value = { text: "" };
  uploads.clear(conversation.id);
  return "sent";
}

function heldQueue(conversation: Conversation, { held }: How) {
  return held && { heldQueueDisposition: held, expectedHeldQueueItemIds: conversation.head.peek()?.queue.items.map((i) => i.queueItemId) ?? [] };
}

// resend sends a refused prompt once more, now with a word on the queue that is on hold.
export function resend(conversation: Conversation, command: Command, held: Held): void {
  outbox.forget(command);
  send(command.sessionId, command.type, { ...command.payload, ...heldQueue(conversation, { held }) });
}

// takeBack puts a prompt that was not sent into the composer again.
export function takeBack(key: string, command: Command): void {
  const input = (command.payload.firstInput ?? command.payload) as { text?: string; newText?: string; attachments?: KeptFile[] };
  drafts.restore(key, input.text ?? input.newText ?? "");
  const draft = drafts.of(key);
  if (input.attachments?.length) draft.value = { ...draft.peek(), files: [...(draft.peek().files ?? []), ...input.attachments] };
  if (!outbox.cancel(command)) outbox.forget(command);
}
