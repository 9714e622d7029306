// What is known of one session: its head, and its rows, each with a signal of its own.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Head, Row } from "../wire/types";

export interface Conversation {
  id: string;
  state: Signal<"loading" | "live" | "stale" | "gone">;
  head: Signal<Head | null>; // the snapshot without its rows
  rowIds: Signal<number[]>; // ascending; changes only when rows come or go
  row(id: number): Signal<Row>; // one signal for each row: a delta renders one row anew
  totalCount: Signal<number>;
  hasOlder: ReadonlySignal<boolean>;
  loadOlder(): Promise<void>;
}

const open = new Map<string, { conversation: Conversation; users: number }>();

// follow keeps a session up to date until unfollow was called as often.
export function follow(sessionId: string): Conversation {
  const known = open.get(sessionId);
  if (known) {
    known.users++;
    return known.conversation;
  }
  const conversation = make(sessionId);
  open.set(sessionId, { conversation, users: 1 });
  return conversation;
}

export function unfollow(sessionId: string): void {
  const known = open.get(sessionId);
  if (known && --known.users === 0) open.delete(sessionId);
}

function make(id: string): Conversation {
  const rows = new Map<number, Signal<Row>>();
  return {
    id,
    state: signal("loading"),
    head: signal(null),
    rowIds: signal([]),
    row: (rowId) => rows.get(rowId)!,
    totalCount: signal(0),
    hasOlder: computed(() => false),
    loadOlder: async () => {},
  };
}
