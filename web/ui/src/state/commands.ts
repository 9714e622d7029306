// Commands to the agent, over the page's connection. Everything that steers goes through here.

import { computed, type ReadonlySignal } from "@preact/signals";
import { link, live } from "../wire/link";
import { follow, unfollow, type Conversation } from "./conversation";
import { browserStore } from "./drafts";
import { isPrompt, Outbox, type Base, type Command, type Payload, type SendOptions } from "./outbox";

export { isPrompt, settled } from "./outbox";
export type { Base, Command, Delivery, Fate, Payload, SendOptions } from "./outbox";

export const outbox = new Outbox({
  live,
  device: () => link.hello.peek()?.principal.device,
  now: () => link.now(),
  call: (method, params, o) => link.call(method, params, o),
  base,
}, browserStore());

// send brings a command on its way, or keeps it until there is a connection. What became of it is in its fate.
export const send = (sessionId: string | null, type: string, payload: Payload, o?: SendOptions): Command =>
  outbox.send(sessionId, type, payload, o);

function base(sessionId: string): Base | null {
  const conversation = follow(sessionId);
  const head = conversation.head.peek();
  unfollow(sessionId);
  return head && { revision: head.revision, logEpoch: head.logEpoch };
}

// How many rows at the end are looked through for what was just sent: a prompt's row is among the first of its turn, and
// the page hears of it before it hears of much else.
const recentRows = 40;

// The commands whose input stands in the transcript or in the queue.
export function arrived(conversation: Conversation): ReadonlySignal<ReadonlySet<string>> {
  return computed(() => {
    const ids = new Set<string>();
    for (const item of conversation.head.value?.queue.items ?? []) ids.add(item.sourceCommandId);
    for (const rowId of conversation.rowIds.value.slice(-recentRows)) {
      const row = conversation.row(rowId).peek();
      if ((row.kind === "userInput" || row.kind === "turnHeader" || row.kind === "timelineMarker") && row.sourceCommandId) ids.add(row.sourceCommandId);
    }
    return ids;
  });
}

// The prompts of a session that are not to be seen anywhere else yet.
export function pendingPrompts(conversation: Conversation, seen: ReadonlySignal<ReadonlySet<string>>): ReadonlySignal<Command[]> {
  return computed(() => outbox.of(conversation.id).value.filter((c) => isPrompt(c) && !seen.value.has(c.id)));
}
