import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

// A link that the test holds in its hand: it sees what goes out and says what comes in.
function fakeLink() {
  const handlers = new Map<string, (...args: any[]) => void>();
  const hello = signal<any>(null);
  const link = {
    hello,
    up: false,
    time: 1_000_000,
    replies: [] as { id: string; result: unknown }[],
    commands: [] as any[],
    open: [] as any[], // what hub/pendingInteractions lists
    settled: [] as any[],
    ack: { status: "accepted" } as any,
    now: () => link.time,
    on: (method: string, f: (params: any) => void) => (handlers.set(method, f), () => handlers.delete(method)),
    onRequest: (method: string, f: (id: any, params: any) => void) => (handlers.set(method, f), () => handlers.delete(method)),
    reply(id: string, result: unknown) {
      if (link.up) link.replies.push({ id, result });
      return link.up;
    },
    async call(method: string, params: any) {
      if (!link.up) throw Object.assign(new Error("not connected"), { code: "offline" });
      if (method === "hub/pendingInteractions") return { pending: [...link.open], settled: [...link.settled] };
      link.commands.push(params);
      return link.ack;
    },
    say: (method: string, ...args: unknown[]) => handlers.get(method)!(...args),
    cut: () => void (link.up = false),
    async connect(to: { epoch?: string; rights?: string[] } = {}) {
      link.up = true;
      hello.value = {
        epoch: to.epoch ?? "run-1",
        connectionId: `c${++connections}`,
        principal: { name: "Phone", device: "dev-phone", rights: to.rights ?? ["view", "answer", "control"] },
      };
      await flush();
    },
  };
  return link;
}

let connections = 0;
const flush = async () => { for (let i = 0; i < 5; i++) await Promise.resolve(); };

let link: ReturnType<typeof fakeLink>;
let a: typeof import("../src/state/asks");
let stop: () => void;

beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  link = fakeLink();
  vi.doMock("../src/wire/link", () => ({ link, CallError: Error }));
  a = await import("../src/state/asks");
  stop = a.startAsks();
  await link.connect();
});

afterEach(() => {
  stop();
  vi.useRealTimers();
});

const options = [
  { optionId: "allow_once", kind: "allow_once", response: { decision: "allow" } },
  { optionId: "deny", kind: "deny", response: { decision: "deny" } },
];
const permission = (requestId: string, sessionId = "s1") =>
  ({ requestId, sessionId, toolCallId: `call-${requestId}`, toolName: "Bash", input: { command: `run ${requestId}` }, options });
const ask = (requestId: string, sessionId?: string) => link.say("interaction/requestPermission", `ask-${requestId}`, permission(requestId, sessionId));
const listed = (requestId: string, openedAt = link.time) =>
  ({ id: `ask-${requestId}`, requestId, openedAt: new Date(openedAt).toISOString(), params: permission(requestId) });
const settle = (requestId: string, outcome: string, by: object, at = link.time) =>
  link.say("hub/interactionSettled", { requestId, sessionId: "s1", outcome, by, at: new Date(at).toISOString() });
const allow = { key: "allow_once", label: "Allow once", result: { decision: "allow" } };
const laptop = { name: "Laptop", device: "dev-laptop" }, phone = { name: "Phone", device: "dev-phone" };
const fate = (n = 0) => a.asks.value[n]!.fate.value;
const lines = () => a.linesOf("s1").value;

test("an answer goes from open over sending and sent to a line in the history", () => {
  ask("1");
  expect(fate()).toEqual({ kind: "open" });
  expect(a.answer("1", allow)).toBe(true);
  expect(fate().kind).toBe("sending");
  expect(link.replies).toEqual([{ id: "ask-1", result: { decision: "allow" } }]);
  link.say("hub/answer", { id: "ask-1", requestId: "1", status: "accepted" });
  expect(fate().kind).toBe("sent");
  settle("1", "allow", phone);
  expect(a.asks.value).toEqual([]);
  expect(lines()).toMatchObject([{ requestId: "1", outcome: "allow", mine: true, subject: "run 1", toolName: "Bash" }]);
  expect(lines()[0]!.lateBy).toBeUndefined();
});

test("a second tap is not a second answer", () => {
  ask("1");
  a.answer("1", allow);
  expect(a.answer("1", allow)).toBe(false);
  expect(a.answer("1", { key: "deny", label: "Reject", result: { decision: "deny" } })).toBe(false);
  link.say("hub/answer", { id: "ask-1", requestId: "1", status: "accepted" });
  expect(a.answer("1", allow)).toBe(false);
  expect(link.replies).toHaveLength(1);
});

test("a question that is shown twice on one connection is one question", () => {
  ask("1");
  a.answer("1", allow);
  ask("1");
  expect(a.asks.value).toHaveLength(1);
  expect(fate().kind).toBe("sending");
  expect(link.replies).toHaveLength(1);
});

test("a late answer says who was faster and by how much", () => {
  ask("1");
  link.time += 2000;
  a.answer("1", allow);
  link.say("hub/answer", { id: "ask-1", requestId: "1", status: "late", decidedBy: laptop, decidedAt: new Date(link.time - 1500).toISOString() });
  expect(fate()).toMatchObject({ kind: "taken", by: laptop });
  expect(a.waiting.value).toEqual([]);
  settle("1", "deny", laptop);
  expect(lines()).toMatchObject([{ outcome: "deny", by: laptop, mine: false, lateBy: 1500 }]);
});

test("settled while sending: the question ends, and the verdict that follows says by how much it was late", () => {
  ask("1");
  link.time += 3000;
  a.answer("1", allow);
  settle("1", "deny", laptop, link.time - 100);
  expect(a.asks.value).toEqual([]);
  expect(a.ended.value).toMatchObject({ outcome: "deny", by: laptop, lateBy: 100 });
  link.say("hub/answer", { id: "ask-1", requestId: "1", status: "late", decidedBy: laptop, decidedAt: new Date(link.time - 2000).toISOString() });
  expect(lines()).toMatchObject([{ lateBy: 2000 }]);
});

test("an answer that does not count leaves the question open and says why", () => {
  ask("1");
  a.answer("1", allow);
  link.say("hub/answer", { id: "ask-1", requestId: "1", status: "invalid", reason: "this allow was not offered" });
  expect(fate()).toEqual({ kind: "open", refused: "this allow was not offered" });
  expect(a.answer("1", allow)).toBe(true);
});

test("one answer is kept while the connection is cut and goes out when the question is shown again", async () => {
  ask("1");
  link.cut();
  expect(a.answer("1", allow)).toBe(true);
  expect(a.answer("1", allow)).toBe(false);
  expect(fate().kind).toBe("kept");
  expect(a.waiting.value).toHaveLength(1);
  link.open = [listed("1")];
  await link.connect();
  expect(link.replies).toEqual([{ id: "ask-1", result: { decision: "allow" } }]);
  expect(fate().kind).toBe("sending");
  ask("1"); // the request itself may come before or after the list
  expect(link.replies).toHaveLength(1);
});

test("a kept answer can be taken back", () => {
  ask("1");
  link.cut();
  a.answer("1", allow);
  a.takeBack("1");
  expect(fate()).toEqual({ kind: "open" });
});

test("a kept answer to a question that was settled meanwhile is never sent", async () => {
  ask("1");
  link.cut();
  a.answer("1", allow);
  link.settled = [{ requestId: "1", sessionId: "s1", outcome: "deny", by: laptop, at: new Date(link.time).toISOString() }];
  await link.connect();
  expect(link.replies).toEqual([]);
  expect(a.asks.value).toEqual([]);
  expect(lines()).toMatchObject([{ outcome: "deny", by: laptop, subject: "run 1" }]);
});

test("cut while sending: the answer goes out again if the question is still open, once", async () => {
  ask("1");
  a.answer("1", allow);
  link.cut();
  link.open = [listed("1")];
  await link.connect();
  ask("1");
  expect(link.replies).toHaveLength(2);
  // Had the first one arrived after all, the second is late to ourselves.
  link.say("hub/answer", { id: "ask-1", requestId: "1", status: "late", decidedBy: phone, decidedAt: new Date(link.time).toISOString() });
  expect(fate().kind).toBe("sent");
});

test("cut while sending: an answer that had arrived is found in the list of the settled", async () => {
  ask("1");
  a.answer("1", allow);
  link.cut();
  link.settled = [{ requestId: "1", sessionId: "s1", outcome: "allow", by: phone, at: new Date(link.time).toISOString() }];
  await link.connect();
  expect(link.replies).toHaveLength(1);
  expect(lines()).toMatchObject([{ outcome: "allow", mine: true }]);
});

test("a question that is neither open nor settled after a reconnect waits for its end, and ends without one", async () => {
  ask("1");
  link.cut();
  await link.connect();
  expect(fate()).toMatchObject({ kind: "taken", by: null });
  expect(a.answer("1", allow)).toBe(false);
  vi.advanceTimersByTime(12_000);
  expect(a.asks.value).toEqual([]);
  expect(lines()).toMatchObject([{ outcome: "unknown", by: null }]);
  settle("1", "deny", laptop);
  expect(lines()).toMatchObject([{ outcome: "deny", by: laptop, subject: "run 1" }]);
});

test("what is asked between the greeting and the list is not taken for missing", async () => {
  link.cut();
  const connecting = link.connect();
  ask("1");
  await connecting;
  expect(fate()).toEqual({ kind: "open" });
});

test("two questions at once are answered apart, oldest first", () => {
  ask("1");
  link.time += 10;
  ask("2", "s2");
  expect(a.waiting.value.map((x) => x.requestId)).toEqual(["1", "2"]);
  a.answer("2", allow);
  expect(link.replies).toEqual([{ id: "ask-2", result: { decision: "allow" } }]);
  expect(fate(0).kind).toBe("open");
  expect(fate(1).kind).toBe("sending");
  settle("1", "deny", laptop);
  expect(a.waiting.value.map((x) => x.requestId)).toEqual(["2"]);
});

test("the list of the hub knows since when a question waits", async () => {
  ask("1");
  link.time += 10;
  ask("2");
  link.open = [listed("1", link.time), listed("2", link.time - 60_000)];
  link.cut();
  await link.connect();
  expect(a.asks.value.map((x) => x.requestId)).toEqual(["2", "1"]);
});

test("a restart of the agent ends all its questions", () => {
  ask("1");
  ask("2");
  a.answer("2", allow);
  for (const id of ["1", "2"]) settle(id, "appServerExited", { name: "agent" });
  expect(a.asks.value).toEqual([]);
  expect(lines().map((l) => l.outcome)).toEqual(["appServerExited", "appServerExited"]);
});

test("a restart of the hub ends the questions of its last run", async () => {
  ask("1");
  link.cut();
  a.answer("1", allow);
  await link.connect({ epoch: "run-2" });
  expect(a.asks.value).toEqual([]);
  expect(lines()).toMatchObject([{ outcome: "hubRestarted" }]);
  expect(link.replies).toEqual([]);
});

test("a question that is asked anew under a new id is a new one", () => {
  ask("1");
  settle("1", "cancelled", { name: "agent" });
  link.time += 1;
  link.say("interaction/requestPermission", "ask-1-again", permission("1"));
  expect(fate()).toEqual({ kind: "open" });
  a.answer("1", allow);
  expect(link.replies).toEqual([{ id: "ask-1-again", result: { decision: "allow" } }]);
  settle("1", "allow", phone);
  expect(lines().map((l) => l.outcome)).toEqual(["cancelled", "allow"]);
});

test("who may only look cannot answer", async () => {
  await link.connect({ rights: ["view"] });
  link.say("hub/interaction", { id: "ask-1", openedAt: new Date(link.time - 5000).toISOString(), params: permission("1") });
  expect(a.asks.value[0]).toMatchObject({ answerable: false, openedAt: link.time - 5000 });
  expect(a.answer("1", allow)).toBe(false);
  expect(link.replies).toEqual([]);
});

test("an option that only V4 knows is answered by a command", async () => {
  ask("1");
  a.answer("1", { key: "fullAccess", label: "Full access", optionId: "fullAccess" });
  expect(fate().kind).toBe("sending");
  await flush();
  expect(link.commands).toMatchObject([{ type: "resolveInteraction", sessionId: "s1", payload: { interactionId: "1", answer: { optionId: "fullAccess" } } }]);
  expect(link.replies).toEqual([]);
  expect(fate().kind).toBe("sent");
});

test("a command that loses the race waits for the verdict", async () => {
  ask("1");
  link.ack = { status: "accepted", result: { type: "resolveInteraction", resolvedBy: laptop } };
  a.answer("1", { key: "fullAccess", label: "Full access", optionId: "fullAccess" });
  await flush();
  expect(fate().kind).toBe("sending");
  link.say("hub/answer", { requestId: "1", status: "late", decidedBy: laptop, decidedAt: new Date(link.time).toISOString() });
  expect(fate()).toMatchObject({ kind: "taken", by: laptop });
});

test("the hub's memory adds lines for answers that this page never saw", () => {
  a.noteActivity("s1", [
    { n: 1, at: 5, kind: "prompt" },
    { n: 2, at: 7, kind: "answer", requestId: "9", outcome: "allow", by: laptop, toolName: "Edit", summary: "a.txt" },
  ]);
  a.noteActivity("s1", [{ n: 2, at: 7, kind: "answer", requestId: "9", outcome: "allow", by: laptop }]);
  expect(lines()).toMatchObject([{ requestId: "9", outcome: "allow", by: laptop, toolName: "Edit", subject: "a.txt", mine: false }]);
});

test("of a question that ended before this page came, the list says how and the memory says what it was about", async () => {
  link.settled = [{ requestId: "9", sessionId: "s1", outcome: "deny", by: laptop, at: new Date(link.time).toISOString() }];
  await link.connect();
  a.noteActivity("s1", [{ n: 2, at: link.time + 3, kind: "answer", requestId: "9", outcome: "deny", by: laptop, toolCallId: "call-9", toolName: "Bash", summary: "make all" }]);
  expect(lines()).toMatchObject([{ requestId: "9", outcome: "deny", by: laptop, toolCallId: "call-9", toolName: "Bash", subject: "make all", at: link.time }]);
});
