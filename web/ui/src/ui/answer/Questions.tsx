// Questions of the agent: one answer, several, or words of one's own; each can be skipped.

import { useId, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { SKIP, type Ask, type Choice } from "../../state/asks";
import type { Question } from "../../wire/types";
import { t } from "../../i18n";
import { inert } from "../rows/inert";
import { AnswerButton } from "./AnswerButton";
import { Feedback, MAX_WORDS } from "./Feedback";
import { change, draftOf, isSecret } from "./drafts";

/** The question whose answer was asked for and is empty: it says so. */
const empty = signal("");

const questionsOf = (ask: Ask): Question[] => {
  const asked = ask.params.questions;
  return Array.isArray(asked) && asked.length > 0 ? asked : [{ question: "", options: [] }];
};

export function QuestionsBody({ ask }: { ask: Ask }) {
  return (
    <>
      {ask.params.prompt && !ask.params.questions?.length && <p>{inert(ask.params.prompt)}</p>}
      {questionsOf(ask).map((q) => <OneQuestion key={q.question} ask={ask} question={q} />)}
    </>
  );
}

function OneQuestion({ ask, question: q }: { ask: Ask; question: Question }) {
  const id = useId();
  const draft = draftOf(ask).value;
  const picked = draft.picked?.[q.question] ?? [];
  const own = draft.own?.[q.question];
  const options = Array.isArray(q.options) ? q.options : [];
  const pick = (values: string[]) => change(ask, { picked: { ...draft.picked, [q.question]: values } });
  const write = (text: string | undefined) => {
    const { [q.question]: _, ...rest } = draft.own ?? {};
    change(ask, { own: text === undefined ? rest : { ...rest, [q.question]: text } });
  };
  const toggle = (value: string, on: boolean) => {
    if (q.multiSelect) return pick(on ? [...picked, value] : picked.filter((v) => v !== value));
    pick([value]);
    write(undefined);
  };
  const kind = q.multiSelect ? "checkbox" : "radio";
  return (
    <fieldset class="answer-question">
      <legend>
        {q.header && <span class="answer-header">{inert(q.header)}</span>}
        {inert(q.question || ask.params.prompt || "")}
        {q.multiSelect && <small> ({t("answer.several")})</small>}
      </legend>
      {options.map((o, i) => {
        const value = o.value ?? o.label;
        return (
          <label key={i} class="answer-choice">
            <input type={kind} name={id} checked={picked.includes(value)} onChange={(e) => toggle(value, e.currentTarget.checked)} />
            <span>
              {inert(o.label)}
              {o.description && <small>{inert(o.description)}</small>}
              {o.preview && <pre class="answer-text">{inert(o.preview)}</pre>}
            </span>
          </label>
        );
      })}
      {options.length > 0 && (
        <label class="answer-choice">
          <input type={kind} name={id} checked={own !== undefined} onChange={(e) => {
            if (!q.multiSelect) pick([]);
            write(e.currentTarget.checked ? "" : undefined);
          }} />
          <span>{t("answer.other")}</span>
        </label>
      )}
      {(own !== undefined || options.length === 0) && (
        <input class="answer-own" type={typeOf(ask)} autocomplete="off" value={own ?? ""}
          aria-label={t(options.length ? "answer.other.label" : "answer.text.label")} onInput={(e) => write(e.currentTarget.value)} />
      )}
      {q.question && (picked.length > 0 || own?.trim() || draft.notes?.[q.question]) && <Note ask={ask} question={q.question} />}
      {empty.value === ask.requestId && <p class="answer-refused" role="alert">{t("answer.nothing")}</p>}
    </fieldset>
  );
}

// A note goes to the agent along with an answer, and is none by itself.
function Note({ ask, question }: { ask: Ask; question: string }) {
  const notes = draftOf(ask).value.notes ?? {};
  const [written] = useState(notes[question] !== undefined); // afterwards the browser opens and folds it
  return (
    <div class="answer-more">
      <details open={written}>
        <summary>{t("answer.note")}</summary>
        <label class="answer-words">
          {t("answer.note.label")}
          <textarea rows={2} maxLength={MAX_WORDS} value={notes[question] ?? ""} onInput={(e) => change(ask, { notes: { ...notes, [question]: e.currentTarget.value } })} />
        </label>
      </details>
    </div>
  );
}

// The types of elements want to know the type of an input beforehand; here the question says it.
const typeOf = (ask: Ask): any => (isSecret(ask) ? "password" : "text");

export function QuestionsAnswers({ ask }: { ask: Ask }) {
  const questions = questionsOf(ask);
  const answers = answersOf(ask, questions);
  const given = Object.keys(answers).length;
  const label = given > 0 && given < questions.length ? t("answer.send.some", { n: questions.length - given }) : t("answer.send");
  const send = (): Choice | null => {
    empty.value = given === 0 ? ask.requestId : "";
    return given === 0 ? null : { key: "accept", label, result: { action: "accept", content: contentOf(ask, answers) } };
  };
  const skip = (): Choice => ({ key: SKIP, label: t("answer.skip"), result: { action: "accept", content: { answers: {} } } });
  const refuse = (): Choice => ({ key: "words", label: t("answer.refuse.send"), result: { action: "decline", reason: draftOf(ask).peek().words?.trim() } });
  const skippable = Boolean(ask.params.questions?.length);
  const decline = (): Choice => ({ key: SKIP, label: t("answer.form.decline"), result: { action: "decline" } });
  return (
    <>
      <div class="answer-pair">
        <AnswerButton ask={ask} name={SKIP} label={t(skippable ? "answer.skip" : "answer.form.decline")} tone={skippable ? "plain" : "no"} shortcut="R" choice={skippable ? skip : decline} />
        <AnswerButton ask={ask} name="accept" label={label} tone="yes" shortcut="A" choice={send} />
      </div>
      <div class="answer-more">
        <Feedback ask={ask} title={t("answer.refuse")} label={t("answer.refuse.label")} send={t("answer.refuse.send")} choice={refuse} />
      </div>
    </>
  );
}

// answersOf collects what was answered, by question; skipped questions are not in it.
function answersOf(ask: Ask, questions: Question[]): Record<string, string | string[]> {
  const { picked = {}, own = {} } = draftOf(ask).value;
  const answers: Record<string, string | string[]> = {};
  for (const q of questions) {
    const text = own[q.question]?.trim();
    const values = [...(picked[q.question] ?? []), ...(text ? [text] : [])];
    if (values.length > 0) answers[q.question] = q.multiSelect ? values : values.at(-1)!;
  }
  return answers;
}

// contentOf names the questions only if the agent named them. Notes go with what was answered.
function contentOf(ask: Ask, answers: Record<string, string | string[]>) {
  if (!ask.params.questions?.length) return { answer: Object.values(answers)[0] };
  const written = Object.entries(draftOf(ask).peek().notes ?? {}).filter(([question, text]) => text.trim() && answers[question] !== undefined);
  const annotations = Object.fromEntries(written.map(([question, text]) => [question, { notes: text.trim() }]));
  return written.length > 0 ? { answers, annotations } : { answers };
}
