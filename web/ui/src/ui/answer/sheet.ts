// Which question the sheet shows, and whether it is open.

import { effect, signal, untracked } from "@preact/signals";
import { asks, ended, waiting, type Ask, type Line } from "../../state/asks";
import { forget, lostWords } from "./drafts";
import { go, route, sessionLink } from "../shell/router";

/** The question that a person chose, else the oldest one of the session is shown. */
const picked = signal("");

/** minimised: the sheet was put aside without an answer. It stays aside until somebody wants it or nothing waits. */
export const minimised = signal(false);

/** wanted counts how often a person asked for the sheet: the focus then goes into it. */
export const wanted = signal(0);

/** How questions ended that this page had open; each stays until it is dismissed or was read. */
export const told = signal<Line[]>([]);

/** shownIn is the question that the sheet of a session shows. */
export function shownIn(sessionId: string): Ask | undefined {
  const here = asks.value.filter((a) => a.sessionId === sessionId);
  return here.find((a) => a.requestId === picked.value) ?? here.find((a) => waiting.value.includes(a)) ?? here[0];
}

/** jump shows the next question that waits after this one, in whatever session; without one, the oldest. */
export function jump(after?: Ask): void {
  const list = waiting.peek();
  const next = list[(after ? list.indexOf(after) : -1) + 1] ?? list[0];
  if (next) open(next);
}

/** open shows a question to somebody who asked for it. */
export function open(ask: Ask): void {
  picked.value = ask.requestId;
  minimised.value = false;
  wanted.value++;
  const at = route.peek();
  if (at.page !== "session" || at.sessionId !== ask.sessionId) go(sessionLink(ask.sessionId));
}

export function dismiss(line: Line): void {
  told.value = told.peek().filter((l) => l !== line);
  forget(line.requestId);
}

const MAX_TOLD = 3; // more do not fit beside the next question; all are in the history
const TOLD = 12_000; // ms; long enough to read a sentence twice

effect(() => {
  if (waiting.value.length === 0) minimised.value = false;
});

effect(() => {
  const line = ended.value;
  if (line) untracked(() => tell(line));
});

function tell(line: Line): void {
  if (!worthTelling(line)) return forget(line.requestId);
  told.value = [...told.peek(), line].slice(-MAX_TOLD);
  if (!lostWords(line.requestId)) setTimeout(() => dismiss(line), TOLD);
}

// What this device decided needs no telling, unless it did not work.
const worthTelling = (line: Line) => !line.mine || line.outcome === "unconfirmed";
