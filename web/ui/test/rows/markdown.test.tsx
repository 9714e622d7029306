// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test, vi } from "vitest";

vi.mock("../../src/wire/link", async () => {
  const { signal } = await import("@preact/signals");
  return { link: { now: () => 0 }, live: signal(true) };
});
const { Markdown } = await import("../../src/ui/rows/Markdown");
const { Code } = await import("../../src/ui/rows/Code");

const place = () => document.body.appendChild(document.createElement("div"));
afterEach(() => (document.body.innerHTML = ""));

function shown(text: string): HTMLElement {
  const root = place();
  act(() => render(<Markdown text={text} />, root));
  return root;
}

// What may come out of any text: these elements with these attributes.
const harmless: Record<string, string[]> = {
  div: ["class", "tabindex", "role"], p: ["class", "dir"], span: ["class"], strong: [], em: [], del: [], code: [], br: [], hr: [], blockquote: [],
  ul: [], ol: ["start"], li: ["class", "dir"], h3: ["class", "dir"], table: [], thead: [], tbody: [], tr: [], th: ["class", "dir"], td: ["class", "dir"],
  figure: ["class"], figcaption: [], pre: ["tabindex", "dir"], button: ["type", "class", "aria-label", "title"], svg: ["class", "viewBox", "aria-hidden"], path: ["d"],
  a: ["href", "target", "rel"],
};

function wantHarmless(root: HTMLElement) {
  for (const e of root.querySelectorAll("*")) {
    const name = e.tagName.toLowerCase();
    expect(Object.keys(harmless)).toContain(name);
    for (const a of e.attributes) expect([name, ...harmless[name]!]).toContain(a.name);
    if (name === "a") {
      expect(e.getAttribute("href")).toMatch(/^(https?:\/\/|mailto:)/);
      expect(e.getAttribute("rel")).toBe("noopener noreferrer nofollow");
    }
  }
  expect(root.textContent).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u);
}

// Each input and what a person has to be able to read of it.
const hostile: [string, string, string][] = [
  ["a script", "<script>alert(1)</script>", "<script>alert(1)</script>"],
  ["a script in a line", "text <script>alert(1)</script> more", "<script>alert(1)</script>"],
  ["an image that runs", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ["an svg that runs", "<svg/onload=alert(1)>", "<svg/onload=alert(1)>"],
  ["a frame", "<iframe srcdoc='<script>1</script>'></iframe>", "<iframe"],
  ["a form", "<form action=https://evil.example><input></form>", "<form"],
  ["a style", "<style>*{display:none}</style>", "<style>"],
  ["html in a table", "| a |\n|---|\n| <b onclick=x>c</b> |", "<b onclick=x>c</b>"],
  ["html in a heading", "# <marquee>x</marquee>", "<marquee>"],
  ["a comment", "<!-- <script>x</script> -->", "<script>"],
  ["cdata", "<![CDATA[ <script>x</script> ]]>", "<script>"],
  ["html behind entities", "&lt;script&gt;alert(1)&lt;/script&gt;", "<script>alert(1)</script>"],
  ["a javascript link", "[click](javascript:alert(1))", "javascript:alert(1)"],
  ["a javascript link in disguise", "[click](JaVaScRiPt&#58;alert(1))", "alert(1)"],
  ["a javascript link with a tab", "[click](<java\tscript:alert(1)>)", "script:alert(1)"],
  ["a data link", "[click](data:text/html;base64,PHNjcmlwdD4=)", "data:text/html"],
  ["a vbscript link", "[click](vbscript:x)", "vbscript:x"],
  ["a file link", "[click](file:///etc/passwd)", "file:///etc/passwd"],
  ["a relative link", "[click](//evil.example/x)", "//evil.example/x"],
  ["an autolink that runs", "<javascript:alert(1)>", "javascript:alert(1)"],
  ["a reference that runs", "[click][1]\n\n[1]: javascript:alert(1)", "click"],
  ["an image from elsewhere", "![pixel](https://evil.example/p.png)", "evil.example"],
  ["an image as a link", "[![x](https://evil.example/p.png)](https://other.example)", "other.example"],
  ["a link that says another host", "[https://bank.example](https://evil.example/login)", "(evil.example)"],
  ["a link with a user that looks like a host", "[https://bank.example](https://bank.example@evil.example)", "(evil.example)"],
  ["a link with letters that look alike", "[https://аpple.com](https://аpple.com)", "(xn--pple-43d.com)"],
  ["a link without a text", "[](https://evil.example)", "evil.example"],
  ["a turned direction", "invoice\u202Efdp.exe", "RLO"],
  ["a turned direction in code", "`a\u2066b\u2069`", "LRI"],
  ["a turned direction in a link", "[a\u202Eb](https://example.org/\u202E)", "RLO"],
  ["escape sequences", "\x1b[31mred\x1b]0;title\x07", "␛[31mred"],
  ["NUL", "a\0b", "a"],
  ["backspaces", "rm -rf /\b\b\b\b\b\b\b\bls", "␈"],
  ["C1 controls", "a\x9b31mb", "U+009B"],
  ["zero width spaces", "pass\u200bword", "ZWSP"],
  ["tags that nobody sees", "hi\u{e0041}\u{e0042}", "U+E0041"],
  ["half a surrogate pair", "x\ud83dy", "\ufffd"],
  ["broken UTF-8", "x\ufffdy", "\ufffd"],
  ["a fence that names a class", "```\"><script>alert(1)</script>\nx\n```", "x"],
];

test.each(hostile)("%s does nothing and can be read", (_, text, read) => {
  const root = shown(text);
  wantHarmless(root);
  expect(root.textContent).toContain(read);
});

test("text of two megabytes in one line is shown in part, with a way to more", () => {
  const root = shown(`start ${"word ".repeat(400_000)} end`);
  expect(root.textContent!.length).toBeLessThan(200_000);
  expect(root.textContent).toContain("start");
  expect(root.textContent).toContain("end");
  const before = root.textContent!.length;
  act(() => root.querySelector<HTMLButtonElement>(".cut")!.click());
  expect(root.textContent!.length).toBeGreaterThan(before);
});

test("nesting without end comes to an end", () => {
  wantHarmless(shown("> ".repeat(3000) + "deep"));
  wantHarmless(shown(Array.from({ length: 500 }, (_, i) => "  ".repeat(i) + "- x").join("\n")));
});

test("what people write often comes out as they meant it", () => {
  const root = shown("# T\n\n1. a\n   - b\n\n- [x] done\n- [ ] open\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n*e* **s** ~~d~~ `c` a&amp;b &copy; <https://example.org/x> x<br>y\n\n```go\nfunc\n```\n");
  expect(root.querySelector("h3.h1")!.textContent).toBe("T");
  expect(root.querySelector("ol > li > ul > li")!.textContent).toBe("b");
  expect([...root.querySelectorAll("li.task")].map((e) => e.textContent)).toEqual(["☑ done", "☐ open"]);
  expect(root.querySelector("td.center")!.textContent).toBe("1");
  expect(root.querySelector("em, strong, del, code")).not.toBeNull();
  expect(root.textContent).toContain("a&b ©");
  expect(root.querySelector("a")!.getAttribute("href")).toBe("https://example.org/x");
  expect(root.querySelector(".host")).toBeNull();
  expect(root.querySelector("p br")).not.toBeNull();
  expect(root.querySelector("pre")!.textContent).toBe("func");
});

test("text that grows changes its last block only", () => {
  const root = place();
  const show = (text: string) => act(() => render(<Markdown text={text} />, root));
  show("one\n\ntwo");
  const first = root.querySelector("p")!;
  const changes: MutationRecord[] = [];
  const watch = new MutationObserver((records) => changes.push(...records));
  watch.observe(first, { childList: true, characterData: true, subtree: true });
  show("one\n\ntwo more");
  show("one\n\ntwo more\n\nthree");
  changes.push(...watch.takeRecords());
  expect(root.querySelector("p")).toBe(first);
  expect(changes).toEqual([]);
  expect([...root.querySelectorAll("p")].map((p) => p.textContent)).toEqual(["one", "two more", "three"]);
});

test("long code is cut and copied whole", () => {
  const root = place();
  const code = "x".repeat(100_000);
  act(() => render(<Code text={code} />, root));
  expect(root.textContent!.length).toBeLessThan(30_000);
  expect(root.querySelector(".cut")).not.toBeNull();
});
