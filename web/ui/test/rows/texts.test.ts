import { expect, test } from "vitest";
import { ansi } from "../../src/ui/rows/ansi";
import { clip, firstLine } from "../../src/ui/rows/clip";
import { counts, difference, parsed, type Line } from "../../src/ui/rows/difference";
import { says, target } from "../../src/ui/rows/links";
import { member } from "../../src/ui/rows/partial";
import { Fields, editsOf, exitCode, nameOf, what } from "../../src/ui/rows/tools";
import type { ToolCallRow } from "../../src/wire/types";

const textOf = (raw: string) => ansi(raw).map((s) => s.text).join("");

test.each<[string, string, string]>([
  ["plain", "plain", ""],
  ["\x1b[31mred\x1b[0m", "red", "ink1"],
  ["\x1b[1;32mbold green\x1b[m", "bold green", "bold ink2"],
  ["\x1b[38;5;196mred of the palette", "red of the palette", "ink1"],
  ["\x1b[38;2;10;200;30mgreen", "green", "ink2"],
  ["\x1b[94mbright blue", "bright blue", "ink4"],
  ["\x1b[41mno backgrounds", "no backgrounds", ""],
  ["\x1b[48;5;1;33mafter a background", "after a background", "ink3"],
  ["\x1b[2J\x1b[1;1H\x1b[?25lcleared", "cleared", ""],
  ["\x1b]0;title\x07after a title", "after a title", ""],
  ["\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link", ""],
  ["\x9b31mC1", "C1", "ink1"],
  ["\x1bPdevice control\x1b\\rest", "rest", ""],
  ["cut off\x1b[3", "cut off", ""],
  ["cut off\x1b", "cut off", ""],
])("of the output %j stay its text and its colour", (raw, text, classes) => {
  expect(textOf(raw)).toBe(text);
  expect(ansi(raw)[0]!.classes).toBe(classes);
});

test("a line that was written over shows what was written last", () => {
  expect(textOf("10%\r50%\r100%\ndone\r\n")).toBe("100%\ndone\n");
  expect(textOf("abc\b\bX")).toBe("aX");
});

test("output that changes its colour without end makes few elements", () => {
  const spans = ansi(Array.from({ length: 50_000 }, (_, i) => `\x1b[3${i % 8}mx`).join(""));
  expect(spans.length).toBeLessThanOrEqual(2001);
  expect(spans.map((s) => s.text).join("").length).toBe(50_000);
});

test("a text is cut at lines, never inside a character, and nothing is counted twice", () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}\n`).join("");
  const { head, tail, cut } = clip(lines, 500, 300);
  expect(head.endsWith("\n")).toBe(true);
  expect(tail.startsWith("line ")).toBe(true);
  expect(head.length + cut + tail.length).toBe(lines.length);
  const faces = clip("😀".repeat(1000), 501, 301);
  for (const part of [faces.head, faces.tail]) expect(part).not.toMatch(/\p{Surrogate}/u);
  expect(clip("short", 500, 300)).toEqual({ head: "short", tail: "", cut: 0 });
  expect(firstLine("\n\n  first\nsecond")).toBe("first");
  expect(firstLine("x".repeat(1000), 10)).toBe("xxxxxxxxxx…");
});

const show = (lines: Line[]) => lines.map((l) => ({ same: " ", added: "+", removed: "-", gap: "~" })[l.kind] + l.text);
const marked = (line: Line) => line.words?.map(([text, changed]) => (changed ? `[${text}]` : text)).join("");

test("a change is shown with three lines around it and the words that differ", () => {
  const before = Array.from({ length: 20 }, (_, i) => `line ${i}`).join("\n");
  const lines = difference(before, before.replace("line 10", "line ten"));
  expect(show(lines)).toEqual(["~", " line 7", " line 8", " line 9", "-line 10", "+line ten", " line 11", " line 12", " line 13", "~"]);
  expect(lines.filter((l) => l.words).map(marked)).toEqual(["line [10]", "line [ten]"]);
  expect(lines.find((l) => l.kind === "added")).toMatchObject({ after: 11 });
  expect(counts(lines)).toEqual({ added: 1, removed: 1 });
});

test("a unified diff is read with its numbers", () => {
  const lines = parsed("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n .button {\n-  color: red;\n+  color: blue;\n }\n@@ -40 +40,2 @@ func x()\n same\n+new\n\\ No newline at end of file\n");
  expect(show(lines)).toEqual([" .button {", "-  color: red;", "+  color: blue;", " }", "~func x()", " same", "+new"]);
  expect(lines.filter((l) => l.words).map(marked)).toEqual(["  color: [red];", "  color: [blue];"]);
  expect(lines.at(-1)).toMatchObject({ after: 41 });
});

test("texts that have nothing in common are compared in bounded time", { timeout: 60_000 }, () => {
  const random = (seed: number) => Array.from({ length: 20_000 }, (_, i) => `${(i * 7919 * seed) % 10_007}`).join("\n");
  const started = performance.now();
  const lines = difference(random(3), random(5));
  expect(performance.now() - started).toBeLessThan(20_000); // without a bound it takes minutes
  expect(counts(lines).added).toBeGreaterThan(0);
});

test("the input of a call can be read before it is complete", () => {
  expect(member('{"command":"echo \\"hi\\" && l', "command")).toBe('echo "hi" && l');
  expect(member('{"command":"a\\', "command")).toBe("a");
  expect(member('{"command":"a\\u00e', "command")).toBe("a");
  expect(member('{"file_path":"/x","new_string":"a\\\\"}', "new_string")).toBe("a\\");
  expect(member('{"x":"\\"command\\":\\"no\\""', "command")).toBeUndefined();
  expect(member('{"command":4}', "command")).toBeUndefined();
});

const call = (toolName: string, input: unknown, more: Partial<ToolCallRow> = {}) => ({ toolName, input, inputText: JSON.stringify(input), ...more }) as ToolCallRow;

test("one line tells a call from another", () => {
  expect(what(call("Bash", { command: "make\ntest" }))).toBe("make");
  expect(what(call("Read", { file_path: "/home/me/project/src/main.go", offset: 10, limit: 5 }))).toBe("…/project/src/main.go:10–14");
  expect(what(call("Grep", { pattern: "needle", path: "/src" }))).toBe("needle  /src");
  expect(what(call("Unheard", { query: "x" }))).toBe("x");
  expect(what(call("Bash", ["not", "an", "object"]))).toBe("");
  expect(what(call("Bash", undefined, { inputText: '{"command":"ls -' }))).toBe("ls -");
  expect(nameOf("mcp__github__create_issue")).toBe("github · create_issue");
  expect(new Fields(call("X", null)).list("edits")).toEqual([]);
});

test("what a call changes comes from its result, or from what it asks for", () => {
  expect(editsOf(call("Edit", { old_string: "a", new_string: "b" }))).toEqual([{ before: "a", after: "b" }]);
  expect(editsOf(call("MultiEdit", { edits: [{ old_string: "a", new_string: "b" }, { old_string: 1 }] }))).toEqual([{ before: "a", after: "b" }]);
  expect(editsOf(call("Edit", { old_string: "a", new_string: "b" }, { output: { text: "", display: { kind: "diff", diff: "@@" } } }))).toEqual([{ unified: "@@" }]);
  expect(editsOf(call("Edit", "broken"))).toEqual([]);
});

test("the number that a command ended with is found where it is told", () => {
  expect(exitCode(call("Bash", {}, { output: { text: "x", display: { exitCode: 3 } } }))).toBe(3);
  expect(exitCode(call("Bash", {}, { error: { code: "e", message: "Exit code 2" } }))).toBe(2);
  expect(exitCode(call("Bash", {}, { output: { text: "done" } }))).toBeUndefined();
});

test("a link leads to the web or to mail, and its text may stand for its host only if it names it", () => {
  for (const href of ["javascript:x", " javascript:x", "java\nscript:x", "data:text/html,x", "blob:https://x/1", "ftp://x", "/x", "//x", "x", "", "file:///x", "intent://x"]) expect(target(href)).toBeNull();
  const to = target("https://example.org/path")!;
  expect(to).toEqual({ href: "https://example.org/path", host: "example.org" });
  expect(says("https://example.org/path", to)).toBe(true);
  expect(says("example.org", to)).toBe(true);
  expect(says("example.org.evil.example", to)).toBe(false);
  expect(says("example.org@evil.example", to)).toBe(false);
  expect(says("the manual", to)).toBe(false);
  expect(target("mailto:a@example.org")!.host).toBe("a@example.org");
});
