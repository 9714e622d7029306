import { useSignal } from "@preact/signals";
import { t } from "../../i18n";
import { may } from "../../state/link";
import type { SessionSummary } from "../../wire/types";
import { Icon } from "../shell/Icon";
import { route, sessionLink } from "../shell/router";
import { age } from "../time";
import { Manage } from "./Manage";

export const waits = (s: SessionSummary): number => {
  const counts = s.pendingInteractionSummary;
  return counts ? counts.permissionCount + counts.userInputCount : s.pendingInteraction ? 1 : 0;
};

// state says in one word how a session is.
export function state(s: SessionSummary): "waits" | "running" | "background" | "error" | "interrupted" | "done" | "draft" {
  if (waits(s)) return "waits";
  if (s.phase === "running" || s.phase === "prewarming") return "running";
  if (s.hasBackgroundWork) return "background";
  if (s.phase === "error") return "error";
  if (s.phase === "completedInterrupted") return "interrupted";
  return s.phase === "draft" ? "draft" : "done";
}

export function SessionItem({ session: s }: { session: SessionSummary }) {
  const managing = useSignal(false);
  const at = route.value;
  const here = at.page === "session" && at.sessionId === s.sessionId;
  const count = waits(s), now = state(s);
  const words = s.pendingInteraction ? t("sessions.asks", { tool: s.pendingInteraction.toolName ?? t("sessions.aQuestion") })
    : s.lastAssistantPreview || s.lastTerminalQuery || "";
  return (
    <li class={`session-item session-${now}`}>
      <a href={sessionLink(s.sessionId)} aria-current={here ? "page" : undefined} data-came-from={here || undefined}>
        <span class="session-top">
          <span class="session-title" dir="auto">{s.title || t("sessions.untitled")}</span>
          <time class="session-age">{age(s.lastActivityAt)}</time>
        </span>
        <span class="session-bottom">
          <span class="session-state"><span class="dot" aria-hidden="true" />{t(`sessions.state.${now}`)}</span>
          {words && <span class="session-words" dir="auto">{words}</span>}
          {count > 0 && <span class="session-badge" aria-label={t("sessions.waiting", { n: count })}>{count}</span>}
        </span>
      </a>
      {may("control") && (
        <button type="button" class="icon-button session-more" aria-label={t("sessions.more", { title: s.title || t("sessions.untitled") })} onClick={() => (managing.value = true)}><Icon name="more" /></button>
      )}
      {managing.value && <Manage sessionId={s.sessionId} title={s.title} onClose={() => (managing.value = false)} />}
    </li>
  );
}
