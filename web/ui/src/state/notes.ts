// What happened around a conversation rather than in it, and where in it that was: restarts.

import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { link } from "../wire/link";
import type { Hello } from "../wire/types";
import type { Conversation } from "./conversation";
import { activityOf } from "./together";

export interface Note {
  at: number;
  kind: "agentRestarted" | "hubRestarted";
}

const hubRestarts = signal<number[]>([]); // those that this page has lived through
let epoch = "";

link.on("hub/hello", (hello: Hello) => {
  if (epoch && hello.epoch !== epoch) hubRestarts.value = [...hubRestarts.value, hello.serverTime];
  epoch = hello.epoch;
});

// notesOf tells which notes stand after which row.
export function notesOf(conversation: Conversation): ReadonlySignal<ReadonlyMap<number, Note[]>> {
  return computed(() => {
    const places = new Map<number, Note[]>();
    const agent = activityOf(conversation.id).value.filter((e) => e.kind === "appServer").map(({ at }): Note => ({ at, kind: "agentRestarted" }));
    const hub = hubRestarts.value.map((at): Note => ({ at, kind: "hubRestarted" }));
    for (const note of [...agent, ...hub].sort((a, b) => a.at - b.at)) {
      const after = lastBefore(conversation, note.at);
      if (after !== undefined) places.set(after, [...(places.get(after) ?? []), note]);
    }
    return places;
  });
}

// lastBefore finds the last row that was there at a time; rows are in the order of their times.
function lastBefore(conversation: Conversation, at: number): number | undefined {
  const ids = conversation.rowIds.value;
  let from = 0, to = ids.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (conversation.row(ids[middle]!).peek().createdAt <= at) from = middle + 1;
    else to = middle;
  }
  return ids[from - 1];
}
