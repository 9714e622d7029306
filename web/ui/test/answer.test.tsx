// @vitest-environment happy-dom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Conversation } from "../src/state/conversation";

const hub = vi.hoisted(() => ({ live: true, replies: [] as any[], commands: [] as any[], handlers: new Map<string, (...args: any[]) => void>() }));
vi.mock("../src/wire/link", async () => {
  const { signal } = await import("@preact/signals");
  const take = (method: string, f: (...args: any[]) => void) => (hub.handlers.set(method, f), () => {});
  return {
    CallError: Error,
    live: signal(true),
    link: {
      status: signal({ kind: "live", since: 0 }),
      hello: signal<any>(null),
      rtt: signal(null),
      on: take,
      onRequest: take,
      now: () => 1_000_000,
      reply: (id: string, result: unknown) => (hub.replies.push({ id, result }), true),
      async call(method: string, params: any) {
        if (method === "hub/pendingInteractions") return { pending: [], settled: [] };
        hub.commands.push(params);
        return { status: "accepted" };
      },
    },
  };
});
vi.mock("../src/state/sessions", () => ({ session: () => undefined }));
const { link, live } = await import("../src/wire/link") as any;
const { AskSheet } = await import("../src/ui/answer/AskSheet");
const { asks, startAsks } = await import("../src/state/asks");
startAsks();

const head = signal<any>(null);
const conversation = { id: "s1", head } as unknown as Conversation;

beforeEach(() => {
  vi.useFakeTimers();
  hub.replies.length = hub.commands.length = 0;
  live.value = true;
  head.value = null;
  sessionStorage.clear();
});
afterEach(() => {
  act(() => render(null, document.body));
  asks.value = [];
  vi.useRealTimers();
});

let connections = 0, questions = 0;

// show puts a question to somebody with these rights, and waits until the sheet reacts.
function show(params: object, rights = ["view", "answer", "control"], armed = true): string {
  const requestId = `q${++questions}`;
  act(() => {
    link.hello.value = { epoch: "run", connectionId: `c${++connections}`, principal: { name: "Phone", device: "d", rights } };
    hub.handlers.get("interaction/requestPermission")!(`ask-${requestId}`, { requestId, sessionId: "s1", ...params });
    render(<AskSheet conversation={conversation} />, document.body);
  });
  if (armed) act(() => void vi.advanceTimersByTime(400));
  return requestId;
}

const button = (text: string) => [...document.querySelectorAll<HTMLElement>(".answer-sheet button")].find((b) => b.textContent!.startsWith(text));
const press = (text: string) => act(() => button(text)!.click());
const said = () => document.querySelector(".answer-sheet")!.textContent!;
const write = (selector: string, text: string) => act(() => {
  const field = document.querySelector<HTMLInputElement>(selector)!;
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
});

const rule = { optionId: "allow_project", kind: "allow_always", name: "Always allow in this project",
  response: { decision: "allow", permissionUpdates: [{ type: "addRules", behavior: "allow", rules: [{ toolName: "Bash", ruleContent: "make *" }, { toolName: "Read" }] }, { type: "setMode", mode: "yolo" }, { type: "unheardOf", x: 1 }] } };
const bash = { toolName: "Bash", riskLevel: "high", reason: "needs approval", input: { command: "make all" },
  options: [{ optionId: "allow_once", kind: "allow_once", response: { decision: "allow", reason: "Approved once" } }, { optionId: "deny", kind: "deny", response: { decision: "deny" } }, rule] };

test("the command stands first, and once", () => {
  show(bash);
  expect(document.querySelector(".answer-body")!.firstElementChild!.textContent).toBe("make all");
  expect(document.querySelector(".answer-body")!.textContent!.split("make all")).toHaveLength(2);
  expect(said()).toContain("high risk");
});

test("nothing in a new sheet reacts for a moment", () => {
  show(bash, undefined, false);
  press("Allow once");
  expect(hub.replies).toEqual([]);
  act(() => void vi.advanceTimersByTime(400));
  press("Allow once");
  expect(hub.replies).toMatchObject([{ result: { decision: "allow", reason: "Approved once" } }]);
  expect(button("Allow once: sending")).toBeDefined();
});

test("a lasting rule is spelt out, whatever it is", () => {
  show(bash);
  const rules = document.querySelector(".answer-rule")!.textContent!;
  for (const part of ["Bash with make *", "every use of Read", "mode yolo", '{"type":"unheardOf","x":1}']) expect(rules).toContain(part);
  press("Always allow in this project");
  expect(hub.replies).toMatchObject([{ result: rule.response }]);
});

test("without control nothing that lasts is offered", () => {
  show(bash, ["view", "answer"]);
  expect(button("Always")).toBeUndefined();
  expect(button("Allow once")).toBeDefined();
});

test("options that only the conversation lists are answered by their name", () => {
  const requestId = show(bash);
  act(() => void (head.value = { pendingInteractions: [{ interactionId: requestId, payload: { kind: "permission",
    options: [{ optionId: "allowOnce", kind: "allowOnce", label: "Allow once" }, { optionId: "allowAlways", kind: "allowAlways", label: "Always", response: rule.response }, { optionId: "allowSession", kind: "allowAlways", label: "For this session" }],
    fullAccessOption: { optionId: "fullAccess", kind: "custom", label: "Full access" } } }] }));
  expect(said()).toContain("everything in this session, without asking again");
  press("For this session");
  expect(hub.replies).toEqual([]);
  expect(hub.commands).toMatchObject([{ type: "resolveInteraction", payload: { interactionId: requestId, answer: { optionId: "allowSession" } } }]);
});

test("while the page is not live the buttons are grey and say why", () => {
  show(bash);
  act(() => void (live.value = false));
  expect(button("Allow once")!.classList.contains("stale")).toBe(true);
  expect(said()).toContain("One answer is kept");
});

test("feedback survives going away and coming back", () => {
  show(bash);
  write("textarea", "use make test");
  act(() => render(null, document.body));
  act(() => render(<AskSheet conversation={conversation} />, document.body));
  act(() => void vi.advanceTimersByTime(400));
  expect(document.querySelector("textarea")!.value).toBe("use make test");
  press("Reject with these words");
  expect(hub.replies).toMatchObject([{ result: { decision: "deny", reason: "use make test" } }]);
});

test("a form gives each field its type, masks what is secret and keeps none of it", () => {
  show({ toolName: "mcp", schema: { interaction: "mcp_elicitation", serverName: "deploy", requestedSchema: { required: ["key"], properties: {
    key: { type: "string", title: "Key", format: "password" }, count: { type: "integer", default: 2 }, dry: { type: "boolean" }, where: { type: "string", enum: ["eu", "us"] }, note: { type: "string" },
  } } } });
  expect(said()).toContain("deploy asks");
  const key = document.querySelector<HTMLInputElement>("input[name=key]")!;
  expect(key.type).toBe("password");
  write("input[name=key]", "hunter2");
  act(() => document.querySelector<HTMLInputElement>("input[name=dry]")!.click());
  expect(JSON.stringify({ ...sessionStorage })).not.toContain("hunter2");
  press("Send");
  expect(hub.replies).toMatchObject([{ result: { action: "accept", content: { key: "hunter2", count: 2, dry: true, where: "eu" } } }]);
  expect(hub.replies[0].result.content).not.toHaveProperty("note");
});

test("the word approve as feedback does not approve a plan", () => {
  show({ toolName: "ExitPlanMode", schema: { interaction: "plan_approval" }, input: { plan: "1. do it" },
    questions: [{ question: "Review", options: [{ value: "approve", label: "Approve" }] }] });
  write("textarea", "Approve");
  press("Send back");
  expect(hub.replies).toMatchObject([{ result: { action: "decline", reason: "Approve" } }]);
});

test("a question that answers itself says when, and can be made to wait", async () => {
  const requestId = show({ toolName: "AskUserQuestion", prompt: "?", questions: [{ question: "Which?", options: [{ value: "a", label: "A" }] }] });
  expect(said()).not.toContain("goes on");
  act(() => void (head.value = { pendingInteractions: [{ interactionId: requestId, payload: {}, autoResolution: { state: "visibleCountdown", startedAt: 0, visibleAt: 0, deadlineAt: 1_000_000 + 125_000 } }] }));
  expect(said()).toContain("goes on without an answer in 2:05");
  press("Keep waiting");
  expect(hub.commands).toMatchObject([{ type: "snoozeInteractionAutoResolution", payload: { interactionId: requestId } }]);
  act(() => void (head.value = { pendingInteractions: [{ interactionId: requestId, payload: {}, autoResolution: { state: "snoozed", startedAt: 0 } }] }));
  expect(said()).toContain("waits for an answer");
});

test("when another was faster, the words that were not sent are given back", () => {
  const requestId = show(bash);
  write("textarea", "my long reason");
  act(() => hub.handlers.get("hub/interactionSettled")!({ requestId, sessionId: "s1", outcome: "deny", by: { name: "Laptop", device: "other" }, at: new Date(1_000_000 - 2000).toISOString() }));
  expect(document.querySelector(".answer-sheet")).toBeNull();
  expect(document.querySelector(".answer-told")!.textContent).toContain("Laptop rejected Bash make all · 2 s ago");
  expect(document.querySelector(".answer-told")!.textContent).toContain("my long reason");
});

test("a note goes along with the answer to its question, and is none by itself", () => {
  const options = [{ value: "a", label: "A" }, { value: "b", label: "B" }];
  show({ toolName: "AskUserQuestion", prompt: "?", questions: [{ question: "Which?", options }, { question: "When?", options }] });
  expect(document.querySelector(".answer-words textarea")!.closest("fieldset")).toBeNull();
  act(() => document.querySelector<HTMLInputElement>(".answer-question input")!.click());
  write(".answer-question textarea", " only for now ");
  press("Answer, 1 skipped");
  expect(hub.replies).toMatchObject([{ result: { action: "accept", content: { answers: { "Which?": "a" }, annotations: { "Which?": { notes: "only for now" } } } } }]);
});
