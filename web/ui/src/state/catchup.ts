// What a session's reader has missed while the page was hidden or cut off, for one line.

import { effect, signal, untracked, type Signal } from "@preact/signals";
import { link, live } from "../wire/link";
import type { ActivityEntry } from "../wire/types";
import { noteActivity } from "./asks";
import { visible } from "./attention";
import type { Conversation } from "./conversation";
import { activityOf, isMe } from "./together";

export interface Missed {
  ms: number; // how long
  updates: number | null; // null: the state came anew, and nobody counted
  entries: ActivityEntry[]; // what people did meanwhile; those of this device are left out
}

const ABSENT = 20_000; // ms; who looked away for less has not been away
const SETTLED = 700; // ms; until the hub has told who did what meanwhile

// watchAbsence tells what was missed after each absence; null before the first, and when it was read.
export function watchAbsence(conversation: Conversation): { missed: Signal<Missed | null>; stop(): void } {
  const missed = signal<Missed | null>(null);
  const activity = activityOf(conversation.id);
  let left: { at: number; seq: number; reloads: number } | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const tell = (was: NonNullable<typeof left>, back: number) => {
    const reloaded = conversation.reloads.peek() !== was.reloads;
    const updates = reloaded ? null : conversation.seq() - was.seq;
    const entries = activity.peek().filter((e) => e.at > was.at + skew() && e.at <= back + skew() && !(e.by && isMe(e.by)));
    if (updates !== 0 || entries.length) missed.value = { ms: back - was.at, updates, entries };
  };

  const stop = effect(() => {
    const here = live.value && visible.value && conversation.state.value === "live";
    if (!here) {
      clearTimeout(timer);
      left ??= conversation.state.peek() === "loading" ? null : { at: Date.now(), seq: conversation.seq(), reloads: conversation.reloads.peek() };
      return;
    }
    const was = left, back = Date.now();
    left = null;
    if (was && back - was.at >= ABSENT) timer = setTimeout(() => tell(was, back), SETTLED);
  });

  const answers = effect(() => {
    const entries = activity.value;
    untracked(() => noteActivity(conversation.id, [...entries]));
  });

  return { missed, stop: () => (clearTimeout(timer), stop(), answers()) };
}

const skew = () => link.now() - Date.now();
