import { expect, test } from "vitest";
import { blockLimit, Blocks } from "../../src/ui/rows/blocks";

const article = `# Title

Some *text* with a [link](https://example.org), over
two lines.

- one
- two

  with a second paragraph
  - nested
- three

1. first
2. second

> quoted
> text

| a | b |
|---|---|
| 1 | 2 |

\`\`\`go
func main() {

}
\`\`\`

Setext
======

last words`;

const raws = (blocks: Blocks) => blocks.list.map((b) => b.token.raw.trimEnd());

test("text that comes in pieces gives the same blocks as the whole", () => {
  for (const size of [1, 2, 3, 7, 50]) {
    const grown = new Blocks(), whole = new Blocks();
    for (let n = size; n < article.length + size; n += size) grown.update(article.slice(0, n));
    whole.update(article);
    expect(raws(grown)).toEqual(raws(whole));
  }
});

test("a block that is finished stays the same object while more comes", () => {
  const blocks = new Blocks();
  const first = blocks.update("one\n\ntwo")[0];
  expect(blocks.update("one\n\ntwo and\n\nthree")[0]).toBe(first);
});

test("text that is replaced is read anew", () => {
  const blocks = new Blocks();
  blocks.update("one\n\ntwo");
  expect(blocks.update("other").map((b) => b.token.raw)).toEqual(["other"]);
});

test("a block is cut when it grows beyond the limit, and nothing of it is lost", () => {
  const words = Array.from({ length: 8000 }, (_, i) => `word${i}`).join(" ");
  const grown = new Blocks();
  for (let n = 1000; n < words.length + 1000; n += 1000) grown.update(words.slice(0, n));
  expect(grown.list.length).toBeGreaterThan(2);
  expect(Math.max(...grown.list.map((b) => b.token.raw.length))).toBeLessThanOrEqual(blockLimit);
  expect(grown.list.map((b) => b.token.raw).join("")).toBe(words);
});

test("the rest of a code block that was cut is code of the same language", () => {
  const code = Array.from({ length: 2000 }, (_, i) => `line ${i}`).join("\n");
  const text = `before\n\n\`\`\`go\n${code}\n\`\`\`\n\nafter`;
  for (const step of [text.length, 997]) {
    const blocks = new Blocks();
    for (let n = step; n < text.length + step; n += step) blocks.update(text.slice(0, n));
    const parts = blocks.list.filter((b) => b.token.type === "code");
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.map((b) => (b.token as { text: string }).text.replace(/\n$/, "")).join("\n")).toBe(code);
    expect(new Set(parts.map((b) => (b.token as { lang?: string }).lang))).toEqual(new Set(["go"]));
    expect(blocks.list.at(-1)!.token.raw).toBe("after");
  }
});

test("only the code block at the end can be open", () => {
  const open = (text: string) => new Blocks().update(text).map((b) => b.open);
  expect(open("```js\nx")).toEqual([true]);
  expect(open("```js\nx\n```")).toEqual([false]);
  expect(open("~~~\nx\n```\n")).toEqual([true]);
  expect(open("```\nx\n```\n\ntext")).toEqual([false, false]);
});

const n = 16_000;
const hostile: Record<string, string> = {
  brackets: "[".repeat(n), stars: "*a ".repeat(n / 3), mixed: "**a*_".repeat(n / 5), ticks: "`a``".repeat(n / 4), tags: "<a ".repeat(n / 3),
  quotes: "> ".repeat(n / 2) + "x", quoteLadder: Array.from({ length: 150 }, (_, i) => ">".repeat(i) + "x").join("\n"),
  lists: Array.from({ length: 150 }, (_, i) => "  ".repeat(i) + "- x").join("\n"), dashes: "- ".repeat(n / 2), numbers: "1. ".repeat(n / 3),
  links: "[a](b".repeat(n / 5), images: "![a](<b".repeat(n / 7), table: "|a".repeat(n / 2) + "\n" + "|-".repeat(n / 2), underscores: "_a__".repeat(n / 4),
  mail: "a.".repeat(n / 2) + "@", addresses: "http://".repeat(n / 7), entities: "&#x".repeat(n / 3), comments: "<!--".repeat(n / 4),
  backslashes: "\\".repeat(n), tasks: "- [ ] ".repeat(n / 6), spaces: " ".repeat(n) + "x", nul: "\0".repeat(n), oneLine: "x".repeat(2_000_000),
};

test.each(Object.keys(hostile))("hostile Markdown is read in bounded time: %s", { timeout: 60_000 }, (name) => {
  const started = performance.now();
  const blocks = new Blocks();
  blocks.update(hostile[name]!);
  expect(performance.now() - started).toBeLessThan(20_000); // a loaded machine needs a second or two, without bounds it is minutes
  expect(blocks.list.length).toBeGreaterThan(0);
});

test.each(["brackets", "stars", "mixed", "ticks", "links", "underscores", "mail"])("text that is made of marks is left as it is: %s", (name) => {
  const [first] = new Blocks().update(hostile[name]!);
  expect((first!.token as { tokens: { type: string }[] }).tokens.map((t) => t.type)).toEqual(["text"]);
});
