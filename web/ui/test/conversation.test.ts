import { beforeEach, describe, expect, test, vi } from "vitest";
import { effect } from "@preact/signals";
import { fresh, Socket } from "./browser";

let link: typeof import("../src/wire/link").link;
let m: typeof import("../src/state/conversation");

beforeEach(async () => {
  fresh();
  ({ link } = await import("../src/wire/link"));
  m = await import("../src/state/conversation");
});

const settle = () => vi.advanceTimersByTimeAsync(20);
const row = (rowId: number, more: object = {}) => ({ rowId, kind: "assistantText", text: "", state: "streaming", ...more });

const head = { protocolVersion: 1, sessionId: "s1", revision: 1, control: { phase: "running" }, meta: { title: "T" }, queue: { items: [], autoDrain: true }, plan: null };
const window = (rows: object[], seq: number, more: object = {}) => ({
  kind: "snapshot", snapshot: { ...head, logEpoch: "e", seq, rows: { window: rows, totalCount: rows.length, firstRowId: (rows[0] as any)?.rowId ?? null, ...more } },
});

let seq = 0;
async function tell(payload: any, toSeq = seq + 1, deliveryKind = "online"): Promise<void> {
  const topic = "conversation/s1";
  const fromSeq = payload.kind === "snapshot" ? 0 : seq;
  seq = toSeq;
  Socket.last.says({ method: "v4/conversation/frame", params: {
    wireVersion: 3, kind: "complete", deliveryKind, logicalFrameId: `f${toSeq}`, logicalFrameOrdinal: toSeq, topic, subscriptionId: "sub",
    frame: { topic, subscriptionId: "sub", fromSeq, toSeq, sentAt: 0, payload } } });
  await settle();
}
const deltas = (...list: object[]) => tell({ kind: "deltas", deltas: list });

async function connected(): Promise<Socket> {
  link.connect();
  Socket.last.answers["v4/conversation/subscribe"] = ({ base }) => ({ ack: { subscriptionId: "sub", mode: base ? "resume" : "snapshot", logEpoch: "e" } });
  Socket.last.answers["v4/conversation/resync"] = () => ({ ack: { subscriptionId: "sub", mode: "snapshot", logEpoch: "e" } });
  Socket.last.opens();
  await settle();
  return Socket.last;
}

test("a conversation that was just left stays, and of those left before only the last few", () => {
  const ids = ["a", "b", "c", "d", "e"];
  const [first, second] = ids.map((id) => m.follow(id));
  for (const id of ["b", "c", "d", "e", "a"]) m.unfollow(id); // the first that was opened is the last to be left
  expect(m.follow("a")).toBe(first);
  expect(m.follow("b")).not.toBe(second);
});

describe("the five operations", () => {
  test("appended rows are counted and last; an upsert replaces a loaded row and nothing else", async () => {
    const c = m.follow("s1");
    await connected();
    await tell(window([], 0), 0);
    await deltas({ op: "row.appended", row: row(1) }, { op: "row.appended", row: row(4) });
    await deltas({ op: "row.upserted", row: row(4, { text: "done", state: "complete" }) }, { op: "row.upserted", row: row(2, { text: "not loaded" }) });
    expect(c.rowIds.value).toEqual([1, 4]);
    expect(c.totalCount.value).toBe(2);
    expect(c.row(4).value).toMatchObject({ text: "done", state: "complete" });
    expect(c.hasOlder.value).toBe(false);
  });

  test("a delta appends to its own text, and renders its own row only", async () => {
    const c = m.follow("s1");
    await connected();
    await tell(window([
      row(1), row(2, { kind: "reasoning" }), row(3, { kind: "toolCall", inputText: "{", output: { text: "a" } }), row(4, { kind: "subagent", summaryText: "s" }),
      row(5, { kind: "toolCall", inputText: "" }), row(6, { kind: "userInput", text: "mine" }),
    ], 0), 0);
    const seen: Record<string, number> = { ids: 0, one: 0, two: 0 };
    effect(() => void (c.rowIds.value, seen.ids!++));
    effect(() => void (c.row(1).value, seen.one!++));
    effect(() => void (c.row(2).value, seen.two!++));
    await deltas(
      { op: "row.delta", rowId: 1, path: "text", append: "He" }, { op: "row.delta", rowId: 1, path: "text", append: "llo" },
      { op: "row.delta", rowId: 3, path: "inputText", append: "}" }, { op: "row.delta", rowId: 3, path: "output.text", append: "b" },
      { op: "row.delta", rowId: 4, path: "summaryText", append: "um" }, { op: "row.delta", rowId: 5, path: "output.text", append: "no output yet" },
      { op: "row.delta", rowId: 6, path: "text", append: "not a text that grows" }, { op: "row.delta", rowId: 1, path: "__proto__", append: "x" },
      { op: "row.delta", rowId: 99, path: "text", append: "not loaded" },
    );
    expect(c.row(1).value).toMatchObject({ text: "Hello" });
    expect(c.row(3).value).toMatchObject({ inputText: "{}", output: { text: "ab" } });
    expect(c.row(4).value).toMatchObject({ summaryText: "sum" });
    expect(c.row(5).value).not.toHaveProperty("output");
    expect(c.row(6).value).toMatchObject({ text: "mine" });
    expect(seen).toEqual({ ids: 1, one: 2, two: 1 });
  });

  test("removed rows are gone from their id on, and what comes afterwards follows", async () => {
    const c = m.follow("s1");
    await connected();
    await tell(window([row(5), row(6), row(7)], 0, { totalCount: 7, firstRowId: 1 }), 0);
    await deltas({ op: "row.removed", fromRowId: 6 }, { op: "row.appended", row: row(8) });
    expect(c.rowIds.value).toEqual([5, 8]);
    expect(c.totalCount.value).toBe(6);
    await deltas({ op: "row.removed", fromRowId: 1 });
    expect([c.rowIds.value, c.totalCount.value, c.hasOlder.value]).toEqual([[], 0, false]);
    await deltas({ op: "row.appended", row: row(9) });
    expect([c.rowIds.value, c.totalCount.value]).toEqual([[9], 1]);
  });

  test("a patch replaces members of the head, never deeper, and all of a frame show at once", async () => {
    const c = m.follow("s1");
    await connected();
    await tell(window([], 0), 0);
    const seen: unknown[] = [];
    effect(() => void seen.push(c.head.value?.queue));
    await deltas({ op: "state.updated", patch: { queue: { items: [1] } } }, { op: "state.updated", patch: { revision: 2, queue: { autoDrain: false } } });
    expect(c.head.value).toMatchObject({ revision: 2, queue: { autoDrain: false }, meta: { title: "T" } });
    expect(c.head.value!.queue).not.toHaveProperty("items");
    expect(seen.length).toBe(2);
  });

  test("an operation that this page does not know harms nothing", async () => {
    const c = m.follow("s1");
    await connected();
    await tell(window([row(1)], 0), 0);
    await deltas({ op: "workflowRun.updated", run: {} }, { op: "row.delta", rowId: 1, path: "text", append: "on" });
    expect(c.row(1).value).toMatchObject({ text: "on" });
  });
});

describe("coming and going", () => {
  test("is loading, live, stale while the connection is away, and live again from where it was", async () => {
    const c = m.follow("s1");
    expect(c.state.value).toBe("loading");
    const socket = await connected();
    await tell(window([row(1, { text: "a" })], 0), 0);
    expect(c.state.value).toBe("live");
    socket.ends(1006);
    await settle();
    expect(c.state.value).toBe("stale");
    link.retryNow();
    await connected();
    expect(c.state.value).toBe("live");
    await deltas({ op: "row.delta", rowId: 1, path: "text", append: "b" });
    expect(c.row(1).value).toMatchObject({ text: "ab" });
    expect(c.reloads.value).toBe(0);
  });

  test("a session that was left a moment ago goes on from its cursor, one whose state came anew says so", async () => {
    const c = m.follow("s1");
    const socket = await connected();
    await tell(window([row(1)], 3), 3);
    m.unfollow("s1");
    expect(m.follow("s1")).toBe(c);
    await settle();
    expect(socket.calls("v4/conversation/subscribe").at(-1).params.base).toEqual({ logEpoch: "e", seq: 3 });
    await tell(window([row(2)], 9), 9);
    expect(c.reloads.value).toBe(1);
    expect(c.rowIds.value).toEqual([2]);
  });

  test("followed twice it is left once both have", async () => {
    m.follow("s1");
    m.follow("s1");
    const socket = await connected();
    m.unfollow("s1");
    expect(socket.calls("v4/conversation/unsubscribe")).toEqual([]);
    m.unfollow("s1");
    expect(socket.calls("v4/conversation/unsubscribe").length).toBe(1);
  });

  test("one that does not exist is gone", async () => {
    const c = m.follow("s1");
    link.connect();
    Socket.last.answers["v4/conversation/subscribe"] = () => { throw { code: -32004, message: "Session not found" }; };
    Socket.last.opens();
    await settle();
    expect(c.state.value).toBe("gone");
  });
});

describe("older rows", () => {
  const older = (ids: number[], more: object = {}) => ({ rows: ids.map((id) => row(id)), atSeq: seq, atRevision: 1, atLogEpoch: "e", hasMore: false, ...more });

  test("come before those that are there, once, until there are no more", async () => {
    const c = m.follow("s1");
    const socket = await connected();
    await tell(window([row(5), row(6)], 4, { totalCount: 5, firstRowId: 1 }), 4);
    expect(c.hasOlder.value).toBe(true);
    socket.answers["v4/conversation/rowsRange"] = () => older([1, 2, 4]);
    await Promise.all([c.loadOlder(), c.loadOlder(), settle()]);
    expect(socket.calls("v4/conversation/rowsRange").map((x) => x.params)).toEqual([{ sessionId: "s1", beforeRowId: 5, limit: 200 }]);
    expect(c.rowIds.value).toEqual([1, 2, 4, 5, 6]);
    expect(c.hasOlder.value).toBe(false);
  });

  test("can be forgotten and come back", async () => {
    const c = m.follow("s1");
    const socket = await connected();
    await tell(window([row(1), row(2), row(5), row(6)], 4, { totalCount: 4, firstRowId: 1 }), 4);
    c.forgetOlder(2);
    expect(c.rowIds.value).toEqual([5, 6]);
    expect([c.hasOlder.value, c.totalCount.value]).toEqual([true, 4]);
    await deltas({ op: "row.upserted", row: row(2, { text: "changed meanwhile" }) });
    socket.answers["v4/conversation/rowsRange"] = () => older([], { rows: [row(1), row(2, { text: "changed meanwhile" })] });
    await Promise.all([c.loadOlder(), settle()]);
    expect(c.rowIds.value).toEqual([1, 2, 5, 6]);
    expect(c.row(2).value).toMatchObject({ text: "changed meanwhile" });
    expect(c.hasOlder.value).toBe(false);
  });

  test("of another run of the session are thrown away", async () => {
    const c = m.follow("s1");
    const socket = await connected();
    await tell(window([row(5)], 4, { totalCount: 5, firstRowId: 1 }), 4);
    socket.answers["v4/conversation/rowsRange"] = () => older([1], { atLogEpoch: "other" });
    await Promise.all([c.loadOlder(), settle()]);
    expect(c.rowIds.value).toEqual([5]);
  });

  test("that are ahead of the stream do not get the same words twice", async () => {
    const c = m.follow("s1");
    const socket = await connected();
    await tell(window([row(5)], 4, { totalCount: 2, firstRowId: 3 }), 4);
    socket.answers["v4/conversation/rowsRange"] = () => older([], { rows: [row(3, { text: "ab" })], atSeq: 5 });
    await Promise.all([c.loadOlder(), settle()]);
    await deltas({ op: "row.delta", rowId: 3, path: "text", append: "b" });
    await deltas({ op: "row.delta", rowId: 3, path: "text", append: "c" });
    expect(c.row(3).value).toMatchObject({ text: "abc" });
  });

  test("stay when the state comes anew and fits on to them, and are read again", async () => {
    const c = m.follow("s1");
    const socket = await connected();
    await tell(window([row(5), row(6)], 4, { totalCount: 4, firstRowId: 1 }), 4);
    socket.answers["v4/conversation/rowsRange"] = () => older([1, 2]);
    await Promise.all([c.loadOlder(), settle()]);
    socket.answers["v4/conversation/rowsRange"] = () => older([], { rows: [row(1), row(2, { text: "new" }), row(5)] });
    await tell(window([row(6), row(7)], 9, { totalCount: 5, firstRowId: 1 }), 9);
    expect(c.rowIds.value).toEqual([1, 2, 5, 6, 7]);
    expect(c.row(2).value).toMatchObject({ text: "new" });
    await tell(window([row(40)], 20, { totalCount: 30, firstRowId: 1 }), 20);
    expect(c.rowIds.value).toEqual([40]);
  });
});

describe("results only", () => {
  const listed = async (more: object = {}) => {
    const topic = "sessions-index//a";
    Socket.last.says({ method: "v4/conversation/frame", params: { wireVersion: 3, kind: "complete", deliveryKind: "online", logicalFrameId: "i", logicalFrameOrdinal: 1, topic, subscriptionId: "sub",
      frame: { topic, subscriptionId: "sub", fromSeq: 0, toSeq: 1, sentAt: 0, payload: { kind: "snapshot", snapshot: { logEpoch: "e", sessions: [{ sessionId: "s1", workspaceId: "/a", phase: "running", ...more }] } } } } });
    await vi.advanceTimersByTimeAsync(1_100);
  };

  async function running() {
    const { bandwidth } = await import("../src/state/settings");
    (await import("../src/state/bandwidth")).watchBandwidth();
    bandwidth.value = "results";
    const c = m.follow("s1");
    const socket = await connected();
    socket.says({ method: "hub/workspace", params: { workspace: { workspacePath: "/a", workspaceKey: "/a" } } });
    await settle();
    await tell({ ...window([row(1, { text: "a" })], 3), snapshot: { ...window([row(1, { text: "a" })], 3).snapshot, pendingInteractions: [] } }, 3);
    await listed();
    await vi.advanceTimersByTimeAsync(1_100);
    return { c, socket };
  }
  const subscribed = (socket: Socket) => socket.calls("v4/conversation/subscribe").filter((x) => x.params.topic === "conversation/s1");

  test("a running turn is let go of, looked at now and then from its cursor, and never looks stale for that", async () => {
    const { c, socket } = await running();
    expect(socket.calls("v4/conversation/unsubscribe").length).toBe(1);
    expect(c.state.value).toBe("live");
    await vi.advanceTimersByTimeAsync(15_000);
    expect(subscribed(socket).at(-1).params.base).toEqual({ logEpoch: "e", seq: 3 });
    socket.ends(1006);
    await settle();
    expect(c.state.value).toBe("stale");
  });

  test("its end, or a question, brings it back at once", async () => {
    const { socket } = await running();
    const before = subscribed(socket).length;
    await listed({ pendingInteraction: { interactionId: "p", kind: "permission" } });
    expect(subscribed(socket).length).toBe(before + 1);
  });
});
