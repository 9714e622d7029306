import { t } from "../../i18n";
import { notesOf, type Note } from "../../state/notes";
import type { Conversation } from "../../state/conversation";
import { hourMinute } from "../time";
import type { ReadonlySignal } from "@preact/signals";

const kept = new WeakMap<Conversation, ReadonlySignal<ReadonlyMap<number, Note[]>>>();

// Notes are the lines that stand after a row: what happened around the conversation just then.
export function Notes({ conversation, rowId }: { conversation: Conversation; rowId: number }) {
  let notes = kept.get(conversation);
  if (!notes) kept.set(conversation, (notes = notesOf(conversation)));
  const here = notes.value.get(rowId);
  if (!here) return null;
  return (
    <>
      {here.map(({ at, kind }) => (
        <p key={at} class="note">
          {t(`note.${kind}`)} <time dateTime={new Date(at).toISOString()}>{hourMinute(at)}</time>
        </p>
      ))}
    </>
  );
}
