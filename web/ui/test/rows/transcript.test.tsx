// @vitest-environment happy-dom
import type { Signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AssistantTextRow, Head, Row } from "../../src/wire/types";
import { conversation, rows } from "./sample";

const sent = vi.hoisted(() => [] as unknown[][]);
vi.mock("../../src/wire/link", async () => {
  const { signal } = await import("@preact/signals");
  const nothing = () => () => {};
  return { link: { status: signal({ kind: "live", since: 0 }), hello: signal({ principal: { name: "Desk", rights: ["view", "answer", "control"] } }), rtt: signal(null), call: () => new Promise(() => {}), on: nothing, onRequest: nothing, reply: () => false, now: () => Date.UTC(2026, 5, 1, 9, 34) }, live: signal(true) };
});
vi.mock("../../src/state/commands", async () => {
  const { signal } = await import("@preact/signals");
  return { send: (...what: unknown[]) => (sent.push(what), { fate: signal({ kind: "sending" }) }) };
});
const { Transcript } = await import("../../src/ui/rows/Transcript");

// How high the window is: normally high enough for all rows.
let windowHeight = 0;
Object.defineProperty(HTMLElement.prototype, "clientHeight", { get: () => windowHeight });

beforeEach(() => {
  windowHeight = 50_000;
  vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame", "setTimeout", "setInterval"] });
  sent.length = 0;
});
afterEach(() => {
  act(() => render(null, document.body));
  vi.useRealTimers();
});

const running = { phase: "running", activeWorks: [], lastError: null, apiRetry: null } as unknown as Head["control"];
const frame = () => act(() => void vi.advanceTimersByTime(40));
const frames = () => Array.from({ length: 30 }).forEach(frame);

function show(of: Row[] = rows, more: Partial<Head> = {}) {
  const c = conversation(of, more);
  act(() => render(<Transcript conversation={c} />, document.body));
  act(() => void (c.rowIds.value = [...c.rowIds.value])); // a list that has its size looks again at what fits
  frames();
  return c;
}
const text = () => document.querySelector(".log")!.textContent!;
const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)];
const press = (found: HTMLElement | undefined) => {
  act(() => found!.click());
  frames();
};

test("every kind of row says what it is about, folded and open", { timeout: 60_000 }, () => {
  show(rows, { control: running });
  press(all(".turn .text-button")[0]);
  for (const said of ["Make the button blue.", "screen.png", "Thought", "Read", "Grep", "2 hooks", "exit 1", "in the background", "Helper", "github · create_issue", "report.html", "What I did", "180,000", "demo-flash → demo-pro", "unheard of", "Stopped after", "Working", "waits for an answer", "git log --on"]) {
    expect(text()).toContain(said);
  }
  for (const head of all(".item .head[aria-expanded=false]")) press(head);
  for (const said of ["I should look first.", "src/button.css:2:", "Run the tests", "12 passed", "--button: blue;", "How do variables work?", "Find what fails.", '"labels"', "Which blue?", '"exitCode"']) expect(text()).toContain(said);
});

test("steps of a turn that is over are folded; all at once, or run by run", () => {
  show();
  expect(text()).not.toContain("src/button.css:2:");
  expect(all(".fold-line").map((e) => e.textContent)).toEqual(["6 stepsRead, Grep, Glob, TodoWrite", "6 stepsEdit, Write, Bash ×2, WebFetch, Task1 failed", "3 stepsgithub · create_issue, AskUserQuestion, ExitPlanMode", "4 stepsBash ×3"]);
  const before = all(".item").length;
  press(all(".fold-line")[0]);
  expect(all(".item").length).toBe(before + 6);
  press(all(".turn .text-button")[0]);
  expect(all(".item").length).toBe(before + 15);
  press(all(".turn .text-button")[0]);
  expect(all(".item").length).toBe(before);
});

test("steps of the turn that runs are not folded", () => {
  show(rows, { control: running });
  expect(text()).toContain("npm test");
  expect(all(".fold-line").length).toBe(3);
});

test("what streams is shown with the next frame, and nothing else is rendered", () => {
  const c = show();
  const last = rows.at(-1) as AssistantTextRow;
  const cell = c.row(last.rowId) as Signal<Row>;
  const others = all(".item").slice(0, -1).map((e) => e.innerHTML);
  for (let i = 0; i < 100; i++) cell.value = { ...last, text: `${(cell.value as AssistantTextRow).text} word${i}` };
  expect(text()).not.toContain("word99");
  frame();
  expect(text()).toContain("word99");
  expect(all(".item").slice(0, -1).map((e) => e.innerHTML)).toEqual(others);
});

test("rows that come, go and are replaced are shown as they are", () => {
  const c = show();
  const ids = c.rowIds.value;
  act(() => void (c.rowIds.value = ids.slice(0, 3)));
  frame();
  expect(text()).not.toContain("What I did");
  act(() => void (c.rowIds.value = ids));
  frame();
  expect(text()).toContain("What I did");
});

test("only what is near the window is laid out", () => {
  windowHeight = 400;
  const many = Array.from({ length: 10_000 }, (_, i) => ({ ...rows.at(-1)!, rowId: 1000 + i, text: `answer ${i}`, state: "complete" }) as Row);
  const c = conversation(many);
  let keep = 0;
  c.forgetOlder = (n) => void (keep = n);
  act(() => render(<Transcript conversation={c} />, document.body));
  expect(keep).toBeGreaterThan(100); // who reads at the end needs no more
  expect(all(".item").length).toBeLessThan(30);
  expect(text()).toContain("answer 9999");
});

test("background work, plan, goal and usage stand beside the rows, and work can be stopped", () => {
  show();
  expect(document.querySelector(".pinned")!.textContent).toContain("Plan 1/3");
  expect(document.querySelector(".pinned")!.textContent).toContain("76 % of context");
  press(all(".work button").at(-1));
  expect(sent).toEqual([["s", "cancelBackgroundWork", { workId: "w" }]]);
});

test("an input can be changed, an answer tried again and gone on from, as their rows allow", () => {
  show();
  const input = all(".input")[0]!;
  press(all(".input button[aria-label='Change and ask again']")[0]);
  const area = input.querySelector("textarea")!;
  act(() => {
    area.value = "Make it green.";
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  act(() => input.querySelector("form")!.requestSubmit());
  press(all(".says button[aria-label='Try again']")[0]);
  press(all(".says button[aria-label='Go on from here in a new session']")[0]);
  expect(sent.map(([, type, payload]) => [type, (payload as { target: { rowId: number } }).target.rowId, (payload as { newText?: string }).newText])).toEqual([
    ["editUserQuery", 2, "Make it green."],
    ["retryTurn", 21, undefined],
    ["forkAssistant", 21, undefined],
  ]);
});

test("an answer can be called good or bad, and that can be taken back", () => {
  const judged = rows.map((row) => (row.rowId === 21 ? { ...row, feedback: "like" } : row)) as typeof rows;
  show(judged);
  const good = all(".says button[aria-label='Good answer']")[0]!;
  const bad = all(".says button[aria-label='Bad answer']")[0]!;
  expect([good, bad].map((b) => b.getAttribute("aria-pressed"))).toEqual(["true", "false"]);
  press(bad);
  press(good);
  expect(sent.map(([, type, payload]) => [type, payload])).toEqual([
    ["setAssistantFeedback", { target: { rowId: 21, entityId: expect.any(String) }, feedback: "dislike" }],
    ["setAssistantFeedback", { target: { rowId: 21, entityId: expect.any(String) }, feedback: null }],
  ]);
});

test("an error and a retry are told in words", () => {
  show(rows, { control: { phase: "error", activeWorks: [], apiRetry: { attempt: 2, maxAttempts: 5, nextRetryAt: Date.UTC(2026, 5, 1, 9, 34, 20), reasonCode: "overloaded" }, lastError: { code: "1308", message: "The quota is used up", recoverable: false, at: 0, source: "turn", detail: "until Monday" } } as unknown as Head["control"] });
  const foot = document.querySelector(".foot")!.textContent!;
  for (const said of ["attempt 2 of 5", "20 s", "The quota is used up", "until Monday"]) expect(foot).toContain(said);
});
