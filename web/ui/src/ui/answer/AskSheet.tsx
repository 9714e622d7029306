// The agent's question over the session: a sheet at the bottom of a phone, a card above the composer where there is room.

import { useRef } from "preact/hooks";
import type { Conversation } from "../../state/conversation";
import { takeBack, waiting, type Ask } from "../../state/asks";
import { t } from "../../i18n";
import { live } from "../../wire/link";
import { Icon } from "../rows/Icon";
import { second, span } from "../time";
import { Countdown } from "./Countdown";
import { FormAnswers, FormBody } from "./Form";
import { useFocus, useQuiet } from "./focus";
import { useGuard } from "./guard";
import { PermissionAnswers, PermissionBody } from "./Permission";
import { PlanAnswers, PlanBody } from "./Plan";
import { QuestionsAnswers, QuestionsBody } from "./Questions";
import { jump, minimised, shownIn } from "./sheet";
import { Spoken } from "./Spoken";
import { Told } from "./Told";
import { WaitingBar } from "./WaitingBar";
import { ago, nameOf, titleOf } from "./words";

/** AskSheet shows what waits in the session that is open, and that something waits elsewhere. */
export function AskSheet({ conversation }: { conversation: Conversation }) {
  const ask = shownIn(conversation.id);
  useQuiet(ask);
  const sheet = ask && !minimised.value;
  return (
    <div class={sheet ? "asking open" : "asking"}>
      <Spoken ask={ask} />
      <Told sessionId={conversation.id} />
      {sheet ? <Sheet ask={ask} conversation={conversation} /> : <WaitingBar ask={ask} />}
    </div>
  );
}

function Sheet({ ask, conversation }: { ask: Ask; conversation: Conversation }) {
  const box = useRef<HTMLElement>(null);
  const { armed, guards } = useGuard(ask.id);
  const keys = useFocus(box, ask);
  const id = `ask-${ask.id}`;
  return (
    <section ref={box} class={`answer-sheet ${ask.kind}`} role="dialog" aria-labelledby={id} data-request={ask.requestId} data-armed={armed} {...guards} onKeyDown={keys}>
      <header>
        <h2 id={id} tabIndex={-1}>{titleOf(ask)}</h2>
        <span class="answer-age">{ago(second.value - ask.openedAt)}</span>
        <button type="button" class="answer-minimise" aria-label={t("answer.minimise")} title={t("answer.minimise")} aria-keyshortcuts="Escape" onClick={() => (minimised.value = true)}>
          <Icon of="fold" />
        </button>
      </header>
      <div class="answer-body" tabIndex={0}><Body ask={ask} /></div>
      <footer>
        <Countdown ask={ask} conversation={conversation} />
        <Fate ask={ask} />
        {ask.answerable ? <Answers ask={ask} conversation={conversation} /> : <p class="answer-note">{t("answer.look")}</p>}
        <Queue ask={ask} />
      </footer>
    </section>
  );
}

function Body({ ask }: { ask: Ask }) {
  if (ask.kind === "permission") return <PermissionBody ask={ask} />;
  if (ask.kind === "plan") return <PlanBody ask={ask} />;
  return ask.params.schema?.requestedSchema ? <FormBody key={ask.id} ask={ask} /> : <QuestionsBody key={ask.id} ask={ask} />;
}

function Answers({ ask, conversation }: { ask: Ask; conversation: Conversation }) {
  if (ask.kind === "permission") return <PermissionAnswers key={ask.id} ask={ask} conversation={conversation} />;
  if (ask.kind === "plan") return <PlanAnswers key={ask.id} ask={ask} />;
  return ask.params.schema?.requestedSchema ? <FormAnswers key={ask.id} ask={ask} /> : <QuestionsAnswers key={ask.id} ask={ask} />;
}

// Fate says what the tapped button alone cannot.
function Fate({ ask }: { ask: Ask }) {
  const fate = ask.fate.value;
  switch (fate.kind) {
    case "open":
      if (fate.refused !== undefined) return <p class="answer-refused" role="alert">{t("answer.fate.refused", { reason: fate.refused })}</p>;
      return live.value || !ask.answerable ? null : <p class="answer-note stale">{t("answer.stale")}</p>;
    case "kept":
      return (
        <p class="answer-note stale">
          <span>{t("answer.fate.kept.about")}</span>
          <button type="button" class="answer-link" onClick={() => takeBack(ask.requestId)}>{t("answer.fate.takeBack")}</button>
        </p>
      );
    case "taken":
      return <p class="answer-note">{takenText(fate.by, fate.sent && fate.sent.at - fate.at)}</p>;
  }
  return null;
}

function takenText(by: { name: string; device?: string } | null, before?: number): string {
  if (!by) return t("answer.fate.taken.unknown");
  if (before === undefined) return t("answer.fate.taken", { who: nameOf(by) });
  return t("answer.fate.taken.before", { who: nameOf(by), time: span(before) });
}

function Queue({ ask }: { ask: Ask }) {
  const others = waiting.value.filter((a) => a !== ask).length;
  if (others === 0) return <Keys />;
  return (
    <div class="answer-queue">
      <span>{t("answer.queue", { n: others })}</span>
      <Keys />
      <button type="button" class="answer-link" data-shortcut="N" aria-keyshortcuts="N" title={t("answer.next.hint")} onClick={() => jump(ask)}>
        {t("answer.next")}
      </button>
    </div>
  );
}

// Keys tells of the shortcuts where there is a keyboard.
function Keys() {
  return (
    <details class="answer-keys">
      <summary>{t("answer.keys")}</summary>
      <p>{t("answer.keys.sheet")}</p>
    </details>
  );
}
