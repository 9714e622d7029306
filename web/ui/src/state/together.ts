// Being together on a session: who is here, who did what, and who has control.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { lastHello } from "./link";
import { link, live } from "../wire/link";
import type { ActivityEntry, ControlState, Person, Presence } from "../wire/types";

export interface PresenceNotice { sessionId: string; total: number; clients: Presence[] }

interface Together {
  presence: Signal<PresenceNotice>;
  control: Signal<ControlState | null>;
  activity: Signal<readonly ActivityEntry[]>;
  users: number;
  last: number; // of the activity's entries
}

// The hub keeps 256 entries of a session, and a page may stay longer than those.
const maxActivity = 512;
// Entries come in another order now and then; those just below the newest may be missing after a cut.
const overlap = 16;

const sessions = new Map<string, Together>();
const authors = new Map<string, Signal<Person | null>>(); // by command, or by request

function of(sessionId: string): Together {
  let s = sessions.get(sessionId);
  if (!s) {
    s = { presence: signal({ sessionId, total: 0, clients: [] }), control: signal(null), activity: signal([]), users: 0, last: 0 };
    sessions.set(sessionId, s);
  }
  return s;
}

// join keeps a session's company up to date until the function that it returns is called.
export function join(sessionId: string): () => void {
  const s = of(sessionId);
  if (s.users++ === 0 && live.peek()) ask(sessionId, s);
  return () => {
    if (--s.users === 0) sessions.delete(sessionId);
  };
}

export const presenceOf = (sessionId: string): ReadonlySignal<PresenceNotice> => of(sessionId).presence;
export const controlOf = (sessionId: string): ReadonlySignal<ControlState | null> => of(sessionId).control;
export const activityOf = (sessionId: string): ReadonlySignal<readonly ActivityEntry[]> => of(sessionId).activity;

// authorOf is who sent a command or answered a request, once the hub has said so.
export function authorOf(id: string): ReadonlySignal<Person | null> {
  let author = authors.get(id);
  if (!author) authors.set(id, (author = signal<Person | null>(null)));
  return author;
}

// controlHeldBy is who keeps this page from steering, if somebody does.
export function controlHeldBy(sessionId: string): { name: string; device?: string } | null {
  const control = of(sessionId).control.value;
  if (control?.mode !== "lease" || !control.holder || isMe(control.holder)) return null;
  return control.holder;
}

// isMe compares devices, since a page that came back has another connection.
export function isMe(who: { connectionId?: string; device?: string }): boolean {
  const hello = lastHello.value;
  if (!hello) return false;
  return who.connectionId === hello.connectionId || (!!who.device && who.device === hello.principal.device);
}

export const changeControl = (sessionId: string, action: "take" | "release" | "handOver", to?: string): Promise<ControlState> =>
  link.call<ControlState>("hub/control", { sessionId, action, ...(to && { to }) }).then((state) => (of(sessionId).control.value = state));

// A hub that does not know one of these says so, and then there is nothing to show.
function ask(sessionId: string, s: Together): void {
  link.call<PresenceNotice>("hub/presence", { sessionId }).then((p) => (s.presence.value = p)).catch(() => {});
  link.call<ControlState>("hub/control", { sessionId, action: "state" }).then((c) => (s.control.value = c)).catch(() => {});
  link.call<{ entries: ActivityEntry[]; last: number }>("hub/activity", { sessionId, after: Math.max(0, s.last - overlap) })
    .then(({ entries, last }) => {
      if (last < s.last) { // another run of the hub counts from the start
        s.last = 0;
        s.activity.value = [];
      }
      learn(s, entries);
    })
    .catch(() => {});
}

function learn(s: Together, entries: readonly ActivityEntry[]): void {
  const known = new Set(s.activity.peek().map((e) => e.n));
  const fresh = entries.filter((e) => !known.has(e.n));
  for (const e of fresh) {
    s.last = Math.max(s.last, e.n);
    if (!e.by) continue;
    for (const id of [e.commandId, e.requestId]) if (id) (authorOf(id) as Signal<Person | null>).value = e.by;
  }
  if (fresh.length) s.activity.value = [...s.activity.peek(), ...fresh].sort((a, b) => a.n - b.n).slice(-maxActivity);
}

live.subscribe((is) => {
  if (is) for (const [id, s] of sessions) if (s.users > 0) ask(id, s);
});
link.on("hub/presence", (p: PresenceNotice) => { if (sessions.has(p.sessionId)) of(p.sessionId).presence.value = p; });
link.on("hub/control", (c: ControlState) => { if (sessions.has(c.sessionId)) of(c.sessionId).control.value = c; });
link.on("hub/activity", (a: { sessionId: string; entry: ActivityEntry }) => { if (sessions.has(a.sessionId)) learn(of(a.sessionId), [a.entry]); });
