// Rows about what goes on beside the conversation: helpers, files, hooks, and marks in time.

import { language, t } from "../../i18n";
import type { ArtifactRow, HookInvocationRow, SubagentRow, TimelineMarkerRow } from "../../wire/types";
import { sessionLink } from "../shell/router";
import { Download } from "./Attachments";
import { firstLine } from "./clip";
import { Icon, type Picture } from "./Icon";
import { inert } from "./inert";
import { Markdown } from "./Markdown";
import { Json } from "./ToolBody";
import { duration } from "./units";
import { useView } from "./view";

const subagentPictures: Record<SubagentRow["status"], Picture> = { running: "busy", success: "done", failed: "failed", cancelled: "stopped" };

export function Subagent({ row }: { row: SubagentRow }) {
  const view = useView();
  const open = view.isOpen(row.rowId, false);
  const title = typeof row["title"] === "string" ? row["title"] : "";
  return (
    <section class={`card subagent ${row.status}`}>
      <header>
        <Icon of={subagentPictures[row.status]} />
        <span class="name">{inert(title || t("rows.subagent"))}</span>
        <span class="note">{inert(row.subagentType)} · {t(`rows.agent.${row.status}`)}</span>
        {row.childSessionId && <a class="button" href={sessionLink(row.childSessionId)}>{t("rows.openChild")}</a>}
      </header>
      {row.summaryText && (open ? <Markdown text={row.summaryText} /> : <p class="preview" dir="auto">{inert(row.status === "running" ? row.summaryText.slice(-200) : firstLine(row.summaryText))}</p>)}
      {row.summaryText.length > 120 && <button type="button" class="cut" aria-expanded={open} onClick={() => view.open(row.rowId, !open)}>{open ? t("rows.less") : t("rows.all")}</button>}
    </section>
  );
}

export function Artifact({ row }: { row: ArtifactRow }) {
  return (
    <section class="card">
      <header>
        <Icon of="file" />
        <span class="name">{inert(row.displayName)}</span>
        <span class="note">{inert(row.artifactType)}</span>
        <Download of={{ ref: row.ref, fileName: row.displayName, mime: row.mimeType, bytes: row.sizeBytes }} row={row} named />
      </header>
    </section>
  );
}

export function Hook({ row }: { row: HookInvocationRow }) {
  const view = useView();
  const open = view.isOpen(row.rowId, false);
  const picture: Picture = /run|pending/i.test(row.state) ? "busy" : /fail|error|block/i.test(row.state) ? "failed" : "done";
  return (
    <section class={`tool hook ${picture}`}>
      <button type="button" class="head" aria-expanded={open} onClick={() => view.open(row.rowId, !open)}>
        <Icon of={picture} />
        <span class="name">{t("rows.hook", { n: row.hookCount })}</span>
        <code class="what" dir="ltr">{inert(row.hookEventName)}</code>
        <span class="note">{picture === "failed" && inert(row.state)} {row.durationMs !== undefined && duration(row.durationMs)}</span>
        <Icon of="fold" />
      </button>
      {open && <div class="body"><Json value={row.executions} /></div>}
    </section>
  );
}

const word = (v: unknown): string => (typeof v === "string" ? v : typeof v === "object" && v !== null && "modelId" in v ? String(v.modelId) : "");
const share = (v: unknown): string => (typeof v === "number" ? v.toLocaleString(language.value) : "?");

// Marker is a line between other rows: something changed here.
export function Marker({ row }: { row: TimelineMarkerRow }) {
  const m = row.marker;
  return (
    <p class="marker">
      <span>{text()}</span>
      {typeof m["childSessionId"] === "string" && <a href={sessionLink(m["childSessionId"])}>{t("rows.openFork")}</a>}
      {typeof m["parentSessionId"] === "string" && <a href={sessionLink(m["parentSessionId"])}>{t("rows.openOrigin")}</a>}
    </p>
  );

  function text() {
    switch (m.type) {
      case "compact":
        return m["contextUsed"] === undefined ? t("rows.marker.compact") : t("rows.marker.compacted", { before: share(m["contextUsedBefore"]), after: share(m["contextUsed"]) });
      case "forkNotice":
        return t("rows.marker.forkNotice");
      case "forkCreated":
        return t("rows.marker.forkCreated");
      case "modelChange":
        return <>{t("rows.marker.modelChange")} {inert(word(m["from"]))} → {inert(word(m["to"]))}</>;
      case "goalSet":
        return <>{t("rows.marker.goalSet")} {inert(firstLine(word(m["objective"])))}</>;
      case "goalVerify":
        return <>{t("rows.marker.goalVerify")} {inert(firstLine(word(m["result"]) || word(m["status"]) || word(m["verdict"])))}</>;
      case "retryNotice":
        return <>{t("rows.marker.retryNotice")} {inert(firstLine(word(m["message"]) || word(m["reasonCode"])))}</>;
      case "checkpointRestored":
        return t("rows.marker.checkpointRestored");
      default:
        return inert(m.type);
    }
  }
}
