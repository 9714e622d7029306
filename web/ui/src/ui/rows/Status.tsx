// What stands beside the rows: the plan, the goal, how full the context is, what runs in the background, what went wrong.

import { useState } from "preact/hooks";
import { t } from "../../i18n";
import { send, type Command } from "../../state/commands";
import type { Conversation } from "../../state/conversation";
import { may } from "../../state/link";
import { live } from "../../wire/link";
import type { BackgroundWork, Goal, Head, LastError, Plan, Usage } from "../../wire/types";
import { sessionLink } from "../shell/router";
import { Fate } from "./Actions";
import { Icon, type Picture } from "./Icon";
import { inert } from "./inert";
import { Todos } from "./Plan";
import { tokens } from "./units";
import type { View } from "./view";
import { Lasting, Until } from "./When";

// Pinned is the bar over the rows. It is not there while there is nothing in it.
export function Pinned({ conversation }: { conversation: Conversation }) {
  const head = conversation.head.value;
  if (!head || !(head.plan?.items.length || head.goal || head.usage.contextWindow)) return null;
  return (
    <div class="pinned">
      {head.plan && head.plan.items.length > 0 && <PinnedPlan plan={head.plan} />}
      {head.goal && <GoalLine goal={head.goal} />}
      <Meter usage={head.usage} />
    </div>
  );
}

function PinnedPlan({ plan }: { plan: Plan }) {
  const [open, set] = useState(false);
  const done = plan.items.filter((i) => i.status === "completed").length;
  const now = plan.items.find((i) => i.status === "inProgress");
  return (
    <section class="plan">
      <button type="button" class="head" aria-expanded={open} onClick={() => set(!open)}>
        <Icon of={done === plan.items.length ? "done" : "mark"} />
        <span class="name">{t("rows.plan", { done, all: plan.items.length })}</span>
        {!open && now && <span class="what" dir="auto">{inert(now.content.slice(0, 200))}</span>}
        <Icon of="fold" />
      </button>
      {open && <Todos items={plan.items} />}
    </section>
  );
}

function GoalLine({ goal }: { goal: Goal }) {
  return (
    <p class={`goal ${goal.status}`}>
      <span class="name">{t("rows.goal")}</span>
      <span class="what" dir="auto">{inert((goal.summaryTitle || goal.objective).slice(0, 200))}</span>
      <span class="note">{t(`rows.goal.${goal.status}`)}{goal.iteration > 0 && ` · ${t("rows.iteration", { n: goal.iteration })}`}</span>
    </p>
  );
}

// Meter tells how much of what the model can hold is used, and from where on it is summed up by itself.
function Meter({ usage }: { usage: Usage }) {
  const [open, set] = useState(false);
  const w = usage.contextWindow;
  if (!w || !w.maxTokens) return null;
  const share = Math.min(w.usedTokens / w.maxTokens, 1), limit = w.autoCompactThresholdTokens;
  const near = w.usedTokens > (limit ?? w.maxTokens) * 0.9;
  const sum = w.breakdown?.reduce((n, b) => n + b.chars, 0) || 1;
  return (
    <div class="usage">
      <button type="button" class={near ? "head near" : "head"} aria-expanded={open} onClick={() => set(!open)}>
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${share * 100}%` }} />
          {limit !== null && <span class="limit" style={{ left: `${Math.min(limit / w.maxTokens, 1) * 100}%` }} />}
        </span>
        {t("rows.context", { percent: Math.round(share * 100) })}
      </button>
      {open && (
        <dl>
          <dt>{t("rows.usage.used")}</dt><dd>{t("rows.usage.of", { used: tokens(w.usedTokens), max: tokens(w.maxTokens) })}</dd>
          {limit !== null && <><dt>{t("rows.usage.compacts")}</dt><dd>{tokens(limit)}</dd></>}
          <dt>{t("rows.usage.input")}</dt><dd>{tokens(usage.cumulative.inputTokens)}</dd>
          <dt>{t("rows.usage.cached")}</dt><dd>{tokens(usage.cumulative.cacheReadTokens)}</dd>
          <dt>{t("rows.usage.output")}</dt><dd>{tokens(usage.cumulative.outputTokens)}</dd>
          {w.breakdown?.map((b) => <><dt class="part">{inert(b.source.replaceAll("_", " "))}</dt><dd>{Math.round((b.chars / sum) * 100)} %</dd></>)}
        </dl>
      )}
    </div>
  );
}

// Foot stands under the rows: what went wrong, what the agent waits for, what runs in the background.
export function Foot({ view }: { view: View }) {
  const head = view.conversation.head.value;
  if (!head) return null;
  const { control, backgroundWorks } = head;
  const works = backgroundWorks.filter((w) => w.status === "running" || w.status === "resultPending");
  if (!control.apiRetry && !control.lastError && works.length === 0) return null;
  return (
    <div class="foot">
      {control.apiRetry && <RetryLine retry={control.apiRetry} />}
      {control.lastError && control.phase === "error" && <ErrorLine error={control.lastError} />}
      {works.map((w) => <Work key={w.workId} work={w} view={view} />)}
    </div>
  );
}

function RetryLine({ retry }: { retry: NonNullable<Head["control"]["apiRetry"]> }) {
  return (
    <p class="warn" role="status">
      <Icon of="retry" /> {t("rows.retrying", { n: retry.attempt, max: retry.maxAttempts })} <Until at={retry.nextRetryAt} />
    </p>
  );
}

function ErrorLine({ error }: { error: LastError }) {
  const more = [error.detail, error.underlyingErrorMessage, error.underlyingErrorDetail].filter((m) => m && m !== error.message).join("\n");
  return (
    <div class="bad" role="alert">
      <p><Icon of="failed" /> {inert(error.message.slice(0, 1000))} <code>{inert(error.code)}</code></p>
      {more && <details><summary>{t("rows.details")}</summary><pre>{inert(more.slice(0, 8000))}</pre></details>}
    </div>
  );
}

const pictures: Record<BackgroundWork["status"], Picture> = { running: "busy", resultPending: "waits", failed: "failed", cancelled: "stopped" };

// Work is something that runs on beside the turns.
function Work({ work, view }: { work: BackgroundWork; view: View }) {
  const [sent, note] = useState<Command | null>(null);
  const cancel = () => note(send(view.conversation.id, "cancelBackgroundWork", { workId: work.workId }));
  const title = inert(work.title.slice(0, 200));
  const mayCancel = work.cancellable !== false && work.status === "running" && may("control");
  return (
    <section class="work">
      <Icon of={pictures[work.status]} />
      {work.anchorRowId === null ? <span class="name" dir="auto">{title}</span> : <button type="button" class="name text-button" dir="auto" title={t("rows.show")} onClick={() => view.jump(work.anchorRowId!)}>{title}</button>}
      <span class="note">{t(`rows.work.${work.status}`)} <Lasting from={work.startedAt} to={work.endedAt} /></span>
      {work.childSessionId && <a class="button" href={sessionLink(work.childSessionId)}>{t("rows.openChild")}</a>}
      {mayCancel && <button type="button" class="plain" onClick={cancel} disabled={!live.value || sent?.fate.value.kind === "sending"}>{t("rows.cancelWork")}</button>}
      {sent && <Fate command={sent} />}
    </section>
  );
}
