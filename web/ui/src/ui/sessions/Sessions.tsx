import { useSignal } from "@preact/signals";
import { t } from "../../i18n";
import { may } from "../../state/link";
import { listed, sessions, workspaceName, workspaces } from "../../state/sessions";
import { link, live } from "../../wire/link";
import type { SessionSummary } from "../../wire/types";
import { Icon } from "../shell/Icon";
import { newLink } from "../shell/router";
import { SessionItem } from "./SessionItem";

const MANY = 7; // sessions; fewer are found by looking

// The list of sessions, by workspace, the most recent first.
export function Sessions() {
  const wanted = useSignal("");
  const all = sessions.value;
  const found = search(all, wanted.value);
  const groups = byWorkspace(found);
  return (
    <div class="sessions">
      <header class="bar">
        <h1>{link.hello.value?.instance.name || t("sessions.title")}</h1>
        {may("control") && (
          <a class="icon-button" aria-label={t("sessions.new")} href={newLink()}><Icon name="plus" /></a>
        )}
        <a class="icon-button" href="#/settings" aria-label={t("settings.title")}><Icon name="gear" /></a>
      </header>
      {(all.length >= MANY || wanted.value) && (
        <div class="search">
          <Icon name="search" />
          <input type="search" aria-label={t("sessions.search")} placeholder={t("sessions.search")} value={wanted.value} onInput={(e) => (wanted.value = e.currentTarget.value)} />
        </div>
      )}
      <div class="scroll">
        {groups.map(([id, list]) => (
          <section key={id} class="workspace">
            <header class="workspace-head">
              <h2 title={id}>{workspaceName(id)}</h2>
              <span class="workspace-path" dir="ltr">{id}</span>
              {may("control") && (
                <a class="icon-button" aria-label={t("sessions.newIn", { folder: workspaceName(id) })} href={newLink(id)}><Icon name="plus" /></a>
              )}
            </header>
            <ul>{list.map((s) => <SessionItem key={s.sessionId} session={s} />)}</ul>
          </section>
        ))}
        {!found.length && <Empty searching={wanted.value !== ""} />}
      </div>
    </div>
  );
}

function search(all: SessionSummary[], wanted: string): SessionSummary[] {
  const words = wanted.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return all;
  return all.filter((s) => {
    const text = `${s.title} ${s.lastAssistantPreview ?? ""} ${s.lastTerminalQuery ?? ""} ${s.workspaceId}`.toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  });
}

// byWorkspace keeps the order: the workspace where something happened last comes first.
function byWorkspace(list: SessionSummary[]): [string, SessionSummary[]][] {
  const groups = new Map<string, SessionSummary[]>();
  for (const s of list) groups.set(s.workspaceId, [...(groups.get(s.workspaceId) ?? []), s]);
  return [...groups];
}

// What a newcomer sees: what this is, and the first thing to do.
function Empty({ searching }: { searching: boolean }) {
  if (searching) return <p class="empty">{t("sessions.noneFound")}</p>;
  if (!listed.value) return <p class="empty" role="status">{live.value ? t("sessions.loading") : t("sessions.notYet")}</p>;
  return (
    <div class="empty">
      <p>{t("sessions.none")}</p>
      {may("control") ? (
        <a class="primary" href={newLink()}>{t("sessions.first")}</a>
      ) : (
        <p>{t("sessions.noneForViewer")}</p>
      )}
      {workspaces.value.length === 0 && may("control") && <p class="hint only-narrow">{t("sessions.whatIsThis")}</p>}
    </div>
  );
}
