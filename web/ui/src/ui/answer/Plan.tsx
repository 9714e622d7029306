// Is this plan good? Approve it, or send it back with what should change.

import type { Ask, Choice } from "../../state/asks";
import { t } from "../../i18n";
import { inert, plain } from "../rows/inert";
import { Markdown } from "../rows/Markdown";
import { AnswerButton } from "./AnswerButton";
import { Feedback } from "./Feedback";
import { draftOf } from "./drafts";

const APPROVE = "approve"; // the answer that approves; the hub takes it in this spelling only

export function PlanBody({ ask }: { ask: Ask }) {
  const input = ask.params.input as { plan?: unknown } | undefined;
  const plan = typeof input?.plan === "string" ? input.plan : JSON.stringify(ask.params.input ?? "", null, 2);
  return (
    <div class="answer-plan" tabIndex={0} role="region" aria-label={t("answer.plan")}>
      <Markdown text={plan} />
    </div>
  );
}

export function PlanAnswers({ ask }: { ask: Ask }) {
  const question = ask.params.questions?.[0];
  const [first, ...others] = question?.options?.length ? question.options : [{ value: APPROVE, label: t("answer.plan.approve") }];
  const accept = (value: string) => ({ action: "accept", content: question ? { answers: { [question.question]: value } } : { answer: value } });
  const back = (): Choice => ({ key: "back", label: t("answer.plan.back"), result: sentBack(draftOf(ask).peek().words?.trim() ?? "", accept) });
  const approve = (o: { value?: string; label: string; description?: string }, tone: "yes" | "plain") => {
    const value = o.value ?? o.label;
    const label = value === APPROVE ? t("answer.plan.approve") : plain(o.label);
    return (
      <AnswerButton ask={ask} name={value} label={label} tone={tone} shortcut={tone === "yes" ? "A" : undefined}
        choice={() => ({ key: value, label, result: accept(value) })} />
    );
  };
  return (
    <>
      <div class="answer-pair">
        <AnswerButton ask={ask} name="back" label={t("answer.plan.back")} tone="no" shortcut="R" choice={back} />
        {approve(first!, "yes")}
      </div>
      <div class="answer-more">
        <Feedback ask={ask} title={t("answer.plan.words")} label={t("answer.plan.words.label")} send={t("answer.plan.back")} choice={back} />
        {others.length > 0 && (
          <details>
            <summary>{t("answer.plan.more")}</summary>
            {others.map((o) => (
              <div key={o.value} class="answer-rule">
                {o.description && <p>{inert(o.description)}</p>}
                {approve(o, "plain")}
              </div>
            ))}
          </details>
        )}
      </div>
    </>
  );
}

// sentBack takes feedback for what the agent reads as feedback. "approve" as feedback would be an approval, so it goes as
// the reason of a refusal.
function sentBack(words: string, accept: (text: string) => object): object {
  if (!words) return { action: "decline" };
  return words.toLowerCase() === APPROVE ? { action: "decline", reason: words } : accept(words);
}
