import type { ComponentChildren } from "preact";
import { t } from "../../i18n";
import type { ToolCallRow } from "../../wire/types";
import { ansi } from "./ansi";
import { Code } from "./Code";
import { Copy } from "./Copy";
import { Long } from "./Cut";
import { Diff } from "./Diff";
import { ofPath } from "./highlight";
import { inert } from "./inert";
import { target } from "./links";
import { Markdown } from "./Markdown";
import { Todos } from "./Plan";
import { editsOf, Fields, type Shape } from "./tools";
import { size } from "./units";

type Body = (props: { row: ToolCallRow }) => ComponentChildren;

// bodies is what each shape of tool shows when it is open.
export const bodies: Record<Shape, Body> = {
  command: Command, edit: Edit, write: Write, read: Read, search: Found, todos: TodoList, web: Web, task: Task, question: Questions, plan: PlanText, other: Other,
};

function Command({ row }: { row: ToolCallRow }) {
  const f = new Fields(row);
  const line = f.text("command");
  return (
    <>
      {f.text("description") && <p class="faint" dir="auto">{inert(f.text("description").slice(0, 500))}</p>}
      {line && (
        <figure class="code command">
          <Long text={line}>{(part) => <pre tabIndex={0} dir="ltr"><code>{inert(part)}</code></pre>}</Long>
          <Copy text={() => line} label={t("rows.copyCommand")} />
        </figure>
      )}
      <Output row={row} />
    </>
  );
}

// Output is what a tool printed. Of a long one the end matters as much as its start.
function Output({ row }: { row: ToolCallRow }) {
  const preview = row.status === "running" && typeof row.outputPreview === "string" ? row.outputPreview : "";
  const text = row.output?.text || preview;
  const { truncated } = row.output ?? {};
  if (!text) return row.status === "success" ? <p class="faint">{t("rows.noOutput")}</p> : null;
  return (
    <figure class="code output">
      <Long text={text} head={preview ? 0 : 4 << 10} tail={4 << 10}>{(part) => <Terminal text={part} />}</Long>
      {truncated && <figcaption>{t("rows.truncated", { size: size(truncated.totalBytes) })}</figcaption>}
      <Copy text={() => text} label={t("rows.copyOutput")} />
    </figure>
  );
}

// Terminal is the output of a command in its colours.
function Terminal({ text }: { text: string }) {
  return (
    <pre tabIndex={0} dir="ltr">
      <code>{ansi(text).map((span) => (span.classes ? <span class={span.classes}>{inert(span.text)}</span> : inert(span.text)))}</code>
    </pre>
  );
}

function Edit({ row }: { row: ToolCallRow }) {
  const edits = editsOf(row);
  return (
    <>
      <Where path={new Fields(row).text("file_path", "notebook_path", "path")} />
      {edits.length > 0 ? <Diff edits={edits} /> : row.input !== undefined && <Json value={row.input} />}
      {row.status === "error" && <Output row={row} />}
    </>
  );
}

function Write({ row }: { row: ToolCallRow }) {
  const f = new Fields(row);
  const file = f.text("file_path", "path");
  const edits = editsOf(row);
  return (
    <>
      <Where path={file} />
      {edits.length > 0 && "unified" in edits[0]! ? <Diff edits={edits} /> : <Code text={f.text("content")} language={ofPath(file)} growing={row.input === undefined} bare />}
      {row.status === "error" && <Output row={row} />}
    </>
  );
}

const Where = ({ path }: { path: string }) => (path ? <p class="where"><code dir="ltr">{inert(path)}</code></p> : null);

// A file is read with the number of each line before it.
const numbered = /^ *\d+(?:\t|→)/;

function Read({ row }: { row: ToolCallRow }) {
  const file = new Fields(row).text("file_path", "notebook_path", "path");
  const text = row.output?.text ?? "";
  if (row.status === "error" || !text) return <><Where path={file} /><Output row={row} /></>;
  return (
    <>
      <Where path={file} />
      <Code text={text} language={numbered.test(text) ? undefined : ofPath(file)} bare />
      {row.output?.truncated && <p class="faint">{t("rows.truncated", { size: size(row.output.truncated.totalBytes) })}</p>}
    </>
  );
}

function Found({ row }: { row: ToolCallRow }) {
  const f = new Fields(row);
  const said = ["pattern", "glob", "path", "type", "output_mode"].filter((name) => f.text(name));
  return (
    <>
      <p class="faint">{said.map((name) => <span class="pair">{name} <code dir="ltr">{inert(f.text(name).slice(0, 500))}</code></span>)}</p>
      <Output row={row} />
    </>
  );
}

function TodoList({ row }: { row: ToolCallRow }) {
  const todos = new Fields(row).list<{ content?: unknown; status?: unknown }>("todos");
  return <Todos items={todos.map((d, i) => ({ id: String(i), content: String(d.content ?? ""), status: d.status === "in_progress" ? "inProgress" : d.status === "completed" ? "completed" : "pending" }))} />;
}

function Web({ row }: { row: ToolCallRow }) {
  const f = new Fields(row);
  const to = target(f.text("url"));
  return (
    <>
      {to ? <p><a href={to.href} target="_blank" rel="noopener noreferrer nofollow">{inert(to.href.slice(0, 500))}</a></p> : <p><code>{inert(f.text("url", "query").slice(0, 500))}</code></p>}
      {f.text("prompt") && <p class="faint" dir="auto">{inert(f.text("prompt").slice(0, 1000))}</p>}
      {row.output?.text && <Markdown text={row.output.text} />}
    </>
  );
}

function Task({ row }: { row: ToolCallRow }) {
  const f = new Fields(row);
  return (
    <>
      <Markdown text={f.text("prompt")} />
      {row.output?.text && <div class="answer"><Markdown text={row.output.text} /></div>}
    </>
  );
}

function Questions({ row }: { row: ToolCallRow }) {
  return (
    <>
      {new Fields(row).list<{ question?: unknown }>("questions").map((q) => <p dir="auto">{inert(String(q.question ?? "").slice(0, 2000))}</p>)}
      {row.output?.text && <p class="answer" dir="auto">{inert(row.output.text.slice(0, 4000))}</p>}
    </>
  );
}

function PlanText({ row }: { row: ToolCallRow }) {
  return <div class="plan-text"><Markdown text={new Fields(row).text("plan")} /></div>;
}

function Other({ row }: { row: ToolCallRow }) {
  return (
    <>
      {row.input !== undefined ? <Json value={row.input} /> : <Code text={row.inputText} bare />}
      <Output row={row} />
    </>
  );
}

export function Json({ value }: { value: unknown }) {
  return <Code text={JSON.stringify(value, null, 2) ?? ""} language="json" bare />;
}
