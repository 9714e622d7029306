// What is worth saying of a tool call in one line, and in what form the rest is shown.

import type { ToolCallRow } from "../../wire/types";
import { firstLine } from "./clip";
import type { Edit } from "./Diff";
import { member } from "./partial";

export type Shape = "command" | "edit" | "write" | "read" | "search" | "todos" | "web" | "task" | "question" | "plan" | "other";

const shapes: Record<string, Shape> = {
  Bash: "command", BashOutput: "command", KillShell: "command", KillBash: "command",
  Edit: "edit", MultiEdit: "edit", NotebookEdit: "edit", Write: "write", Read: "read", NotebookRead: "read",
  Grep: "search", Glob: "search", LS: "search", TodoWrite: "todos", WebFetch: "web", WebSearch: "web",
  Task: "task", Agent: "task", AskUserQuestion: "question", ExitPlanMode: "plan",
};

export const shapeOf = (toolName: string): Shape => shapes[toolName] ?? "other";

// nameOf is how a tool is called: those of servers are named after their server.
export function nameOf(toolName: string): string {
  const [prefix, server, ...rest] = toolName.split("__");
  return prefix === "mcp" && server && rest.length > 0 ? `${server} · ${rest.join("__")}` : toolName;
}

// Fields is a tool's input; members of other types than expected count as absent.
export class Fields {
  private readonly input: Record<string, unknown>;

  constructor(private readonly row: Pick<ToolCallRow, "input" | "inputText">) {
    this.input = typeof row.input === "object" && row.input !== null ? (row.input as Record<string, unknown>) : {};
  }

  text(...names: string[]): string {
    for (const name of names) {
      const value = this.row.input === undefined ? member(this.row.inputText.slice(0, 64 << 10), name) : this.input[name];
      if (typeof value === "string") return value;
      if (typeof value === "number") return String(value);
    }
    return "";
  }

  number(name: string): number | undefined {
    const value = this.input[name];
    return typeof value === "number" ? value : undefined;
  }

  list<T = Record<string, unknown>>(name: string): T[] {
    const value = this.input[name];
    return Array.isArray(value) ? value.filter((v) => typeof v === "object" && v !== null) : [];
  }
}

// what is the line that tells one call from another.
export function what(row: ToolCallRow): string {
  const f = new Fields(row);
  switch (shapeOf(row.toolName)) {
    case "command":
      return firstLine(f.text("command", "bash_id", "shell_id"));
    case "edit":
    case "write":
      return path(f.text("file_path", "notebook_path", "path"));
    case "read":
      return path(f.text("file_path", "notebook_path", "path")) + lines(f);
    case "search": {
      const where = f.text("path");
      return [f.text("pattern", "query"), f.text("glob"), where && path(where)].filter(Boolean).join("  ");
    }
    case "todos":
      return "";
    case "web":
      return f.text("url", "query");
    case "task":
      return f.text("description", "prompt");
    case "question":
      return firstLine(String(f.list("questions")[0]?.["question"] ?? ""));
    case "plan":
      return firstLine(f.text("plan").replace(/^#+\s*/, ""));
    case "other":
      return firstLine(f.text("file_path", "path", "query", "url", "name", "title", "description", "command"));
  }
}

function lines(f: Fields): string {
  const from = f.number("offset"), count = f.number("limit");
  if (from === undefined && count === undefined) return "";
  const first = from ?? 1;
  return count === undefined ? `:${first}–` : `:${first}–${first + count - 1}`;
}

// path shortens a path from its start: its end tells files apart.
export function path(full: string): string {
  const parts = full.split("/");
  return parts.length > 4 ? `…/${parts.slice(-3).join("/")}` : full;
}

// editsOf is what a call changes: as its result tells it, or as it asks for it.
export function editsOf(row: ToolCallRow): Edit[] {
  for (const display of [row.output?.display, row.display]) {
    const d = display as { kind?: unknown; diff?: unknown } | undefined | null;
    if (d?.kind === "diff" && typeof d.diff === "string") return [{ unified: d.diff }];
  }
  const f = new Fields(row);
  const many = f.list("edits");
  const edits = many.length > 0 ? many : [row.input as Record<string, unknown> | undefined];
  return edits.flatMap((e) => {
    const before = e?.["old_string"] ?? e?.["old_source"] ?? "", after = e?.["new_string"] ?? e?.["new_source"];
    return typeof before === "string" && typeof after === "string" ? [{ before, after }] : [];
  });
}

// exitCode is the number that a command ended with, if it is told.
export function exitCode(row: ToolCallRow): number | undefined {
  const display = row.output?.display as { exitCode?: unknown } | undefined | null;
  if (typeof display?.exitCode === "number") return display.exitCode;
  const said = /\bexit(?:ed with)? (?:code|status):? (\d{1,3})\b/i.exec(`${row.error?.message.slice(0, 500) ?? ""}\n${row.output?.text.slice(-500) ?? ""}`);
  return said ? Number(said[1]) : undefined;
}
