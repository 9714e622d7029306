// A rejection in the person's own words, folded away until it is wanted.

import { useRef, useState } from "preact/hooks";
import type { Ask, Choice } from "../../state/asks";
import { AnswerButton } from "./AnswerButton";
import { change, draftOf } from "./drafts";

export const MAX_WORDS = 4096; // what the app-server takes with an answer

interface Props {
  ask: Ask;
  title: string;
  label: string;
  send: string;
  choice: () => Choice; // with the words of the draft
}

export function Feedback({ ask, title, label, send, choice }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const words = draftOf(ask).value.words ?? "";
  const [written] = useState(words !== ""); // afterwards the browser opens and folds it
  const toggled = ({ currentTarget: box }: Event & { currentTarget: HTMLDetailsElement }) => {
    if (box.open && box.contains(document.activeElement)) field.current?.focus();
  };
  return (
    <details open={written} onToggle={toggled}>
      <summary>{title}</summary>
      <label class="answer-words">
        {label}
        <textarea ref={field} rows={3} maxLength={MAX_WORDS} value={words} onInput={(e) => change(ask, { words: e.currentTarget.value })} />
      </label>
      <AnswerButton ask={ask} name="words" label={send} tone="no" choice={() => (words.trim() ? { ...choice(), key: "words", label: send } : null)} />
    </details>
  );
}
