import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { t } from "../../i18n";
import { follow, unfollow, type Conversation } from "../../state/conversation";
import { may } from "../../state/link";
import { session, workspaceName, workspaceOf } from "../../state/sessions";
import { AskSheet } from "../answer/AskSheet";
import { Composer } from "../compose/Composer";
import { Transcript } from "../rows/Transcript";
import { Manage } from "../sessions/Manage";
import { Icon } from "../shell/Icon";
import { back } from "../shell/router";
import { Together } from "../together/Together";
import { Missed } from "./Missed";

// One session: title, transcript, composer.
export function SessionView({ sessionId }: { sessionId: string }) {
  const conversation = useMemo(() => follow(sessionId), [sessionId]);
  useEffect(() => () => unfollow(sessionId), [sessionId]);
  const state = conversation.state.value;
  return (
    <article class="session" data-state={state}>
      <Head conversation={conversation} />
      {state === "gone" ? (
        <div class="empty">
          <p role="alert">{t("session.gone")}</p>
          <a class="primary" href="#/">{t("session.toList")}</a>
        </div>
      ) : state === "loading" ? (
        <p class="empty" role="status">{t("session.loading")}</p>
      ) : (
        <>
          <Missed conversation={conversation} />
          {conversation.head.value?.pendingInteractions.some((p) => p.kind === "workspaceHookReview") && (
            <p class="notice" role="status">{t("session.hookReview")}</p>
          )}
          <Transcript conversation={conversation} />
        </>
      )}
      {state !== "gone" && <AskSheet conversation={conversation} />}
      {state !== "gone" && <Composer conversation={conversation} />}
    </article>
  );
}

function Head({ conversation }: { conversation: Conversation }) {
  const managing = useSignal(false);
  const id = conversation.id;
  const title = conversation.head.value?.meta.title || session(id)?.title || "";
  const workspace = workspaceOf(id);
  return (
    <header class="bar session-head">
      <a class="icon-button only-narrow" href="#/" aria-label={t("do.back")} onClick={back}><Icon name="back" /></a>
      <div class="session-name">
        <h1 dir="auto">{title || t("sessions.untitled")}</h1>
        {workspace && <small title={workspace}>{workspaceName(workspace)}</small>}
      </div>
      <Together conversation={conversation} />
      {may("control") && <button type="button" class="icon-button" aria-label={t("session.menu")} onClick={() => (managing.value = true)}><Icon name="more" /></button>}
      {managing.value && <Manage sessionId={id} title={title} onClose={() => (managing.value = false)} />}
    </header>
  );
}
