// What a session's reader has missed while the page was hidden or cut off, for one line.

import { effect, signal, type Signal } from "@preact/signals";
import { link, live } from "../wire/link";
import type { ActivityEntry } from "../wire/types";
import { noteActivity } from "./asks";
import { visible } from "./attention";
import type { Conversation } from "./conversation";

export interface Missed {
  ms: number; // how long
  updates: number | null; // null: the state came anew, and nobody counted
  entries: ActivityEntry[]; // what people did meanwhile; those of this device are left out
}

const ABSENT = 20_000; // ms; who looked away for less has not been away

// watchAbsence tells what was missed after each absence; null before the first, and when it was read.
export function watchAbsence(conversation: Conversation): { missed: Signal<Missed | null>; stop(): void } {
  const missed = signal<Missed | null>(null);
  let left: { at: number; seq: number; reloads: number } | null = null;
  let lastEntry = 0;
  let known = false; // lastEntry is where the hub's list stood when the reader was here

  const activity = async (after?: number) =>
    link.call<{ entries: ActivityEntry[]; last: number }>("hub/activity", { sessionId: conversation.id, ...(after !== undefined && { after }) })
      .catch(() => ({ entries: [] as ActivityEntry[], last: lastEntry }));

  const off = link.on("hub/activity", ({ sessionId, entry }) => {
    if (sessionId === conversation.id && entry) lastEntry = left ? lastEntry : entry.n;
  });

  const stop = effect(() => {
    const here = live.value && visible.value && conversation.state.value === "live";
    if (!here) {
      if (known) left ??= { at: Date.now(), seq: conversation.seq(), reloads: conversation.reloads.peek() };
      return;
    }
    const was = left;
    left = null;
    void (async () => {
      const before = lastEntry, had = known;
      known = true;
      const { entries, last } = await activity(had ? before : undefined);
      lastEntry = Math.max(lastEntry, last);
      noteActivity(conversation.id, entries);
      if (!was || Date.now() - was.at < ABSENT) return;
      const reloaded = conversation.reloads.peek() !== was.reloads;
      const updates = reloaded ? null : conversation.seq() - was.seq;
      const me = link.hello.peek()?.principal.device;
      const others = entries.filter((e) => !e.by || (e.by.device ?? e.by.name) !== me);
      if (updates === 0 && !others.length) return;
      missed.value = { ms: Date.now() - was.at, updates, entries: others };
    })();
  });

  return { missed, stop: () => (stop(), off()) };
}
