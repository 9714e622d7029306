import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keptFor, Outbox, type Base, type Fate } from "../src/state/outbox";
import { CallError } from "./failure";
import { MemoryStore } from "./store";

// An agent behind a connection that can be cut: it keeps what it decided under each command's id, as the real one does.
class Agent {
  live = signal(true);
  device = "phone";
  clock = 1_791_032_434_000;
  head: Base = { revision: 7, logEpoch: "e1" };
  ran: { type: string; payload: unknown; id: string }[] = [];
  decisions = new Map<string, object>();
  calls: { method: string; params: any }[] = [];
  decide: (params: any) => object = (p) => ({ status: "accepted", result: { type: "inputAccepted", delivery: "startNow", inputId: p.commandId } });
  fail: ((method: string) => CallError | undefined) | undefined;
  deaf = false; // what is sent does not arrive
  mute = false; // what it answers does not arrive
  private waiting = new Set<(e: CallError) => void>();

  readonly wire = {
    live: this.live,
    device: () => this.device,
    now: () => this.clock,
    base: () => this.head,
    call: <T>(method: string, params: any): Promise<T> => {
      if (!this.live.value) return Promise.reject(new CallError("offline", "offline"));
      this.calls.push({ method, params });
      const failure = this.fail?.(method);
      if (failure) return Promise.reject(failure);
      const answer = this.deaf ? undefined : this.take(method, params);
      if (this.deaf || this.mute) return new Promise((_, reject) => this.waiting.add(reject));
      return Promise.resolve(answer as T);
    },
  };

  private take(method: string, params: any): unknown {
    if (method === "v4/commands/query") {
      return { results: params.commands.map((key: any) => ({ key, result: this.decisions.get(key.commandId) ?? "unknown" })) };
    }
    const known = this.decisions.get(params.commandId) as any;
    if (known) return { ...known, status: known.status === "accepted" ? "duplicate" : known.status };
    const ack = { commandId: params.commandId, revisionAtDecision: this.head.revision, ...this.decide(params) } as any;
    this.decisions.set(params.commandId, ack);
    if (ack.status === "accepted") this.ran.push({ type: params.type, payload: params.payload, id: params.commandId });
    return ack;
  }

  cut() {
    this.live.value = false;
    for (const reject of this.waiting) reject(new CallError("lost", "the connection broke"));
    this.waiting.clear();
  }
}

let agent: Agent;
let store: MemoryStore;
let outbox: Outbox;
const reload = () => (outbox = new Outbox(agent.wire, store));
const settle = () => vi.advanceTimersByTimeAsync(0);
const stored = () => store.length;

beforeEach(() => {
  vi.useFakeTimers();
  agent = new Agent();
  store = new MemoryStore();
  reload();
});
afterEach(() => vi.useRealTimers());

const prompt = (text = "hello") => outbox.send("s1", "sendText", { text });

test("an accepted prompt is out of the store and stays in the list until its row is seen", async () => {
  const c = prompt();
  expect(c.fate.value.kind).toBe("sending");
  expect(stored()).toBe(1);
  await settle();
  expect(c.fate.value).toMatchObject({ kind: "accepted", delivery: "startNow" });
  expect(stored()).toBe(0);
  expect(outbox.of("s1").value).toHaveLength(1);
  outbox.forget(c);
  expect(outbox.of("s1").value).toHaveLength(0);
});

test("a prompt that waits in the agent's queue is queued", async () => {
  agent.decide = () => ({ status: "accepted", result: { type: "inputAccepted", delivery: "queue" } });
  const c = prompt();
  await settle();
  expect(c.fate.value.kind).toBe("queued");
});

test("a prompt without a connection is unsent, and goes once when there is one", async () => {
  agent.cut();
  const c = prompt();
  expect(c.fate.value.kind).toBe("unsent");
  agent.live.value = true;
  await settle();
  expect(agent.ran.map((r) => r.id)).toEqual([c.id]);
  expect(agent.calls.map((x) => x.method)).toEqual(["v4/command"]); // what was never sent need not be asked for
});

test("prompts written without a connection arrive in the order in which they were written", async () => {
  agent.cut();
  for (const text of ["one", "two", "three"]) prompt(text);
  agent.live.value = true;
  await settle();
  expect(agent.ran.map((r) => (r.payload as any).text)).toEqual(["one", "two", "three"]);
});

test("an unsent prompt can be taken back, a sent one cannot", async () => {
  agent.cut();
  const c = prompt();
  expect(outbox.cancel(c)).toBe(true);
  expect(stored()).toBe(0);
  agent.live.value = true;
  const sent = prompt();
  expect(outbox.cancel(sent)).toBe(false);
  await settle();
  expect(agent.ran.map((r) => r.id)).toEqual([sent.id]);
});

test("cut before the command arrived: asked for, then sent again under the same name", async () => {
  agent.deaf = true;
  const c = prompt();
  agent.cut();
  await settle();
  expect(c.fate.value.kind).toBe("asking");
  agent.deaf = false;
  agent.live.value = true;
  await settle();
  expect(agent.calls.map((x) => x.method)).toEqual(["v4/command", "v4/commands/query", "v4/command"]);
  expect(agent.ran.map((r) => r.id)).toEqual([c.id]);
  expect(c.fate.value.kind).toBe("accepted");
});

test("cut before the answer arrived: asked for, and not sent again", async () => {
  agent.mute = true;
  const c = prompt();
  agent.cut();
  agent.mute = false;
  agent.live.value = true;
  await settle();
  expect(agent.calls.map((x) => x.method)).toEqual(["v4/command", "v4/commands/query"]);
  expect(agent.ran).toHaveLength(1);
  expect(c.fate.value.kind).toBe("accepted");
});

test("cut again and again, wherever: the prompt takes effect once", async () => {
  const c = prompt("once");
  for (const [deaf, mute] of [[true, false], [false, true], [true, true], [false, true]] as const) {
    Object.assign(agent, { deaf, mute });
    agent.cut();
    agent.live.value = true;
    await settle();
  }
  Object.assign(agent, { deaf: false, mute: false });
  agent.cut();
  agent.live.value = true;
  await settle();
  expect(agent.ran.map((r) => r.id)).toEqual([c.id]);
  expect(c.fate.value.kind).toBe("accepted");
});

test("a reload finds what was on its way and asks for it", async () => {
  agent.deaf = true;
  const c = prompt();
  agent.cut();
  reload();
  expect(outbox.of("s1").value.map((x) => [x.id, x.fate.value.kind, x.payload])).toEqual([[c.id, "asking", { text: "hello" }]]);
  agent.deaf = false;
  agent.live.value = true;
  await settle();
  expect(new Set(agent.ran.map((r) => r.id))).toEqual(new Set([c.id]));
  expect(stored()).toBe(0);
});

test("the answer to a repeated command counts as its own", async () => {
  agent.decide = () => ({ status: "duplicate", result: { delivery: "queue" } });
  const c = prompt();
  await settle();
  expect(c.fate.value.kind).toBe("queued");
});

test("a refused prompt keeps its text over a reload, and a new try has a new name", async () => {
  agent.decide = () => ({ status: "rejected", reasonCode: "activePrompt" });
  const c = prompt("precious");
  await settle();
  expect(c.fate.value).toMatchObject({ kind: "refused", code: "activePrompt" });
  reload();
  const kept = outbox.of("s1").value[0]!;
  expect([kept.fate.value.kind, kept.payload.text]).toEqual(["refused", "precious"]);
  agent.decide = () => ({ status: "accepted" });
  const again = outbox.retry(kept);
  await settle();
  expect(again.id).not.toBe(c.id);
  expect(agent.ran.map((r) => (r.payload as any).text)).toEqual(["precious"]);
  expect(stored()).toBe(0);
});

test("a refused prompt is not sent again by a reconnect", async () => {
  agent.decide = () => ({ status: "failed", reasonCode: "fault.command.executionFailed", message: "no" });
  prompt();
  await settle();
  agent.cut();
  agent.live.value = true;
  await settle();
  expect(agent.calls.map((x) => x.method)).toEqual(["v4/command"]);
});

test.each([
  [-32040, "refused", "-32040"],
  [-32041, "refused", "-32041"],
  [-32045, "refused", "-32045"],
])("the hub's refusal %i is a fate", async (code, kind, reason) => {
  agent.fail = () => new CallError(code, "no", { retryable: false });
  const c = prompt();
  await settle();
  expect(c.fate.value).toMatchObject({ kind, code: reason });
  expect(stored()).toBe(1);
});

test.each([-32042, -32043])("after %i the command is tried again when the hub says, under its own name", async (code) => {
  agent.fail = () => new CallError(code, "later", { retryable: true, retryAfterMs: 2500 });
  const c = prompt();
  await settle();
  expect(c.fate.value).toMatchObject({ kind: "waiting", until: agent.clock + 2500 });
  agent.fail = undefined;
  await vi.advanceTimersByTimeAsync(2499);
  expect(agent.ran).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(agent.ran.map((r) => r.id)).toEqual([c.id]);
});

test("no answer in time is asked for, not taken for a no", async () => {
  agent.mute = true;
  const c = prompt();
  agent.mute = false;
  agent.fail = undefined;
  agent.cut();
  agent.live.value = true;
  await settle();
  expect(c.fate.value.kind).toBe("accepted");
  agent.fail = (m) => (m === "v4/command" ? new CallError("timeout", "no answer") : undefined);
  const late = prompt("late");
  await settle();
  expect(late.fate.value.kind).toBe("asking");
  agent.fail = undefined;
  await vi.advanceTimersByTimeAsync(1000);
  expect(late.fate.value.kind).toBe("accepted");
});

test("what another device of this browser wrote is shown and not sent", async () => {
  agent.cut();
  prompt("mine");
  reload();
  agent.device = "phone paired anew";
  agent.live.value = true;
  await settle();
  const [kept] = outbox.of("s1").value;
  expect(kept!.fate.value).toMatchObject({ kind: "refused", code: "otherDevice" });
  expect(agent.calls).toHaveLength(0);
  outbox.retry(kept!);
  await settle();
  expect(agent.ran.map((r) => r.id)).toEqual([kept!.id]);
});

test("what waited longer than the agent remembers is shown and not sent", async () => {
  agent.cut();
  const c = prompt("yesterday");
  agent.clock += keptFor + 1;
  agent.live.value = true;
  await settle();
  expect(c.fate.value).toMatchObject({ kind: "refused", code: "tooOld" });
  expect(agent.calls).toHaveLength(0);
});

test("commands that change what is there carry the revision that was seen, and the epoch where they name a row", async () => {
  outbox.send("s1", "setAutoDrain", { autoDrain: false });
  outbox.send("s1", "retryTurn", { target: {} });
  prompt();
  await settle();
  expect(agent.calls.map(({ params: p }) => [p.type, p.baseRevision, p.baseLogEpoch])).toEqual([
    ["setAutoDrain", 7, undefined], ["retryTurn", 7, "e1"], ["sendText", undefined, undefined],
  ]);
  expect(agent.calls.every(({ params: p }) => !("clientId" in p))).toBe(true); // the hub knows who this is
});

test("a stale command is sent anew on what is there now, while what it is about is as it was", async () => {
  agent.decide = (p) => (p.baseRevision === 9 ? { status: "accepted" } : { status: "stale", reasonCode: "proto.staleRevision", revisionAtDecision: 9 });
  const c = outbox.send("s1", "switchCollaborationMode", { mode: "plan" }, { still: () => true });
  await settle();
  expect(c.fate.value.kind).toBe("accepted");
  expect(agent.ran).toHaveLength(1);
  const changed = outbox.send("s1", "switchCollaborationMode", { mode: "edit" }, { still: () => false });
  await settle();
  expect(changed.fate.value.kind).toBe("stale");
});

test("a stale command is not sent anew without end", async () => {
  agent.decide = () => ({ status: "stale", reasonCode: "proto.staleRevision" });
  const c = outbox.send("s1", "setAutoDrain", { autoDrain: false }, { still: () => true });
  await settle();
  expect(c.fate.value.kind).toBe("stale");
  expect(agent.calls.length).toBeLessThan(10);
});

test("outcome waits for the end", async () => {
  agent.decide = () => ({ status: "accepted", result: { type: "createSession", sessionId: "s9" } });
  let fate: Fate | undefined;
  const c = outbox.send(null, "createSession", { workspaceId: "/w" });
  void outbox.outcome(c).then((f) => (fate = f));
  await settle();
  expect(fate).toMatchObject({ kind: "accepted", result: { sessionId: "s9" } });
  expect(outbox.of(null).value).toHaveLength(0);
});

test("a broken or full store costs the memory over a reload, nothing else", async () => {
  store = new MemoryStore(10);
  reload();
  const c = prompt();
  await settle();
  expect(c.fate.value.kind).toBe("accepted");
  store = new MemoryStore();
  store.setItem("hub.command.x", "{not json");
  store.setItem("hub.command.y", JSON.stringify({ id: 3 }));
  reload();
  expect(outbox.of("s1").value).toEqual([]);
});
