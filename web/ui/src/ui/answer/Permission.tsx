// May this tool call run? Once, not at all, or under a rule that lasts.

import { useMemo } from "preact/hooks";
import { useComputed } from "@preact/signals";
import type { Conversation } from "../../state/conversation";
import { mayDecideForLong, type Ask, type Choice, type Option } from "../../state/asks";
import { t } from "../../i18n";
import type { Key } from "../../i18n/en";
import { inert } from "../rows/inert";
import { AnswerButton } from "./AnswerButton";
import { Rule } from "./Rule";
import { Subject } from "./Subject";
import { Feedback } from "./Feedback";
import { draftOf } from "./drafts";

const risks = ["low", "medium", "high", "critical"];

export function PermissionBody({ ask }: { ask: Ask }) {
  const { input, reason, riskLevel = "", origin } = ask.params;
  const risk = risks.includes(riskLevel) ? riskLevel : "unknown";
  return (
    <>
      <Subject input={input} />
      <p class="answer-about">
        <span class={`answer-risk ${risk}`}>{t(`answer.risk.${risk}` as Key)}</span>
        {reason && <span>{inert(reason)}</span>}
        {origin && <span>{inert(t("answer.by.subagent", { name: origin.agentType || "?" }))}</span>}
      </p>
    </>
  );
}

export function PermissionAnswers({ ask, conversation }: { ask: Ask; conversation: Conversation }) {
  const { once, deny, lasting } = useMemo(() => sorted(ask.params.options ?? []), [ask]);
  const others = useOtherOptions(ask, conversation);
  const refuse = (): Choice => {
    const reason = draftOf(ask).peek().words?.trim();
    return { key: "deny", label: t("answer.reject"), result: { ...deny, ...(reason ? { reason } : {}) } };
  };
  const rules = mayDecideForLong.value ? [...lasting, ...others] : [];
  return (
    <>
      <div class="answer-pair">
        <AnswerButton ask={ask} name="deny" label={t("answer.reject")} tone="no" shortcut="R" choice={refuse} />
        {once && (
          <AnswerButton ask={ask} name={once.optionId} label={t("answer.allow")} tone="yes" shortcut="A"
            choice={() => ({ key: once.optionId, label: t("answer.allow"), result: once.response })} />
        )}
      </div>
      <div class="answer-more">
        <Feedback ask={ask} title={t("answer.words")} label={t("answer.words.label")} send={t("answer.words.send")} choice={refuse} />
        {rules.length > 0 && (
          <details>
            <summary>{t("answer.longer")}</summary>
            <p class="answer-size">{t("answer.longer.about")}</p>
            {rules.map((option) => <Rule key={option.optionId} ask={ask} option={option} />)}
          </details>
        )}
      </div>
    </>
  );
}

// sorted finds the two answers of the moment; what is left lasts.
function sorted(options: Option[]) {
  const once = options.find((o) => o.kind === "allow_once");
  const no = options.find((o) => o.kind === "deny");
  return { once, deny: no?.response ?? { decision: "deny" }, lasting: options.filter((o) => o !== once && o !== no && o.kind !== "deny") };
}

// useOtherOptions are those that only the conversation's own list names; they are answered by their name.
function useOtherOptions(ask: Ask, conversation: Conversation): Option[] {
  return useComputed(() => {
    const pending = conversation.head.value?.pendingInteractions.find((p) => p.interactionId === ask.requestId)?.payload;
    if (pending?.kind !== "permission" || !("options" in pending)) return none;
    const known = new Set((ask.params.options ?? []).map((o) => JSON.stringify(o.response)));
    const extra = pending.options.filter((o) => o.kind !== "allowOnce" && o.kind !== "deny" && !known.has(JSON.stringify(o.response)));
    return [...extra, ...(pending.fullAccessOption ? [pending.fullAccessOption] : [])].map(
      (o): Option => ({ optionId: o.optionId, kind: "v4", name: o.label, description: o.description, response: (o.response ?? {}) as Option["response"] }),
    );
  }).value;
}

const none: Option[] = [];
