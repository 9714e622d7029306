// What a person has typed or chosen in a question and not sent yet. It survives minimising, going to another question and
// reloads; what is secret does not leave the memory of the page.

import { signal, type Signal } from "@preact/signals";
import type { Ask } from "../../state/asks";

export interface Draft {
  words?: string; // feedback with a rejection
  picked?: Record<string, string[]>; // question -> values
  own?: Record<string, string>; // question -> text of its own
  notes?: Record<string, string>; // question -> what goes along with its answer
  form?: Record<string, string | boolean | string[]>; // field -> value
}

const KEY = "hub-answer-drafts";
const MAX_CHARS = 200_000; // of all drafts together in the store: it is shared and small

const drafts = new Map<string, Signal<Draft>>();

export function draftOf(ask: Ask): Signal<Draft> {
  let draft = drafts.get(ask.requestId);
  if (!draft) drafts.set(ask.requestId, (draft = signal(isSecret(ask) ? {} : (stored()[ask.requestId] ?? {}))));
  return draft;
}

/** change puts something into the draft of a question. */
export function change(ask: Ask, part: Draft): void {
  const draft = draftOf(ask);
  draft.value = { ...draft.peek(), ...part };
  if (!isSecret(ask)) store({ ...stored(), [ask.requestId]: draft.peek() });
}

/** lostWords is what a person had written for a question that has ended; empty for what is secret. */
export function lostWords(requestId: string): string {
  const { words, own, notes } = drafts.get(requestId)?.peek() ?? {};
  return [words, ...Object.values(own ?? {}), ...Object.values(notes ?? {})].filter(Boolean).join("\n").trim();
}

export function forget(requestId: string): void {
  drafts.delete(requestId);
  const { [requestId]: _, ...rest } = stored();
  store(rest);
}

export const isSecret = (ask: Ask): boolean => ask.params.sensitive === true || ask.params.schema?.requestedSchema !== undefined;

function stored(): Record<string, Draft> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

function store(all: Record<string, Draft>): void {
  const text = JSON.stringify(all);
  try {
    if (text.length <= MAX_CHARS) sessionStorage.setItem(KEY, text);
  } catch {
    // no store, or a full one: drafts then last as long as the page
  }
}
