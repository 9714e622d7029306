import { t } from "../../i18n";
import type { ToolCallRow } from "../../wire/types";
import { AnswerNote } from "../answer/AnswerNote";
import { Icon, type Picture } from "./Icon";
import { inert } from "./inert";
import { exitCode, nameOf, shapeOf, what, type Shape } from "./tools";
import { bodies } from "./ToolBody";
import { size } from "./units";
import { useView } from "./view";
import { Lasting } from "./When";

const pictures: Record<ToolCallRow["status"], Picture> = {
  inputStreaming: "busy", pendingApproval: "waits", running: "busy", success: "done", error: "failed", cancelled: "stopped",
};

// Of these a reader wants to see at once what they did or ask.
const opensByItself: Partial<Record<Shape, ToolCallRow["status"][]>> = {
  edit: ["pendingApproval", "success"], plan: ["pendingApproval", "success", "cancelled"], question: ["pendingApproval", "success"],
  command: ["pendingApproval"],
};

export function ToolCall({ row }: { row: ToolCallRow }) {
  const view = useView();
  const shape = shapeOf(row.toolName);
  const open = view.isOpen(row.rowId, row.status === "error" || (opensByItself[shape]?.includes(row.status) ?? false));
  const line = what(row).slice(0, 500);
  return (
    <section class={`tool ${row.status}`}>
      <button type="button" class="head" aria-expanded={open} onClick={() => view.open(row.rowId, !open)}>
        <Icon of={pictures[row.status]} />
        <span class="unseen">{t(`rows.status.${row.status}`)}</span>
        <span class="name">{inert(nameOf(row.toolName).slice(0, 80))}</span>
        <code class="what" dir="ltr">{inert(line)}</code>
        <Note row={row} shape={shape} />
        <Icon of="fold" />
      </button>
      {!open && <Tail row={row} />}
      {open && (
        <div class="body">
          {bodies[shape]({ row })}
          {row.error && row.error.message !== row.output?.text && <p class="bad">{inert(row.error.message.slice(0, 4000))}</p>}
        </div>
      )}
      <AnswerNote sessionId={view.conversation.id} toolCallId={row.toolCallId} />
    </section>
  );
}

// Note is what the head says of how it went.
function Note({ row, shape }: { row: ToolCallRow; shape: Shape }) {
  const code = shape === "command" ? exitCode(row) : undefined;
  return (
    <span class="note">
      {row.status === "pendingApproval" && t("rows.status.pendingApproval")}
      {row.status === "cancelled" && t("rows.status.cancelled")}
      {row.backgrounded && t("rows.background")}
      {code !== undefined && code !== 0 && <span class="bad">{t("rows.exit", { code })}</span>}
      {row.status === "running" && (row.progress?.bytes ?? 0) > 0 && size(row.progress!.bytes)}
      {row.startedAt !== undefined && (row.status === "running" || (row.endedAt ?? 0) - row.startedAt > 1000) && <Lasting from={row.startedAt} to={row.endedAt} />}
    </span>
  );
}

// Tail is the last line of what a running command prints.
function Tail({ row }: { row: ToolCallRow }) {
  if (row.status !== "running") return null;
  const preview = row.progress?.previewLine ?? (typeof row.outputPreview === "string" ? row.outputPreview : "");
  const line = preview.slice(-500).trimEnd().split("\n").at(-1)!;
  return line ? <code class="tail" dir="ltr">{inert(line)}</code> : null;
}
