import { beforeEach, describe, expect, test, vi } from "vitest";
import { fresh, Socket } from "./browser";
import { crc32 } from "../src/wire/crc32";

let link: typeof import("../src/wire/link").link;
let followTopic: typeof import("../src/wire/topics").followTopic;

beforeEach(async () => {
  fresh();
  ({ link } = await import("../src/wire/link"));
  ({ followTopic } = await import("../src/wire/topics"));
});

const settle = () => vi.advanceTimersByTimeAsync(20);
const TOPIC = "conversation/s1";

// log is a store that writes down what it is told.
function log() {
  const told: string[] = [];
  return {
    told,
    snapshot: (s: any) => void told.push(`snapshot ${s.seq}`),
    deltas: (d: any[], f: any) => void told.push(`${f.fromSeq}-${f.toSeq}: ${d.join("")}`),
    current: (is: boolean) => {
      if (is || told.includes("current")) told.push(is ? "current" : "old");
    },
    lost: (e: any) => void told.push(`lost ${e?.code ?? ""}`),
  };
}

function physical(fromSeq: number, toSeq: number, payload: object, more: object = {}) {
  return { wireVersion: 3, kind: "complete", deliveryKind: "online", logicalFrameId: `f${toSeq}`, logicalFrameOrdinal: toSeq + 1, topic: TOPIC, subscriptionId: "sub",
    frame: { topic: TOPIC, subscriptionId: "sub", fromSeq, toSeq, sentAt: 0, payload }, ...more };
}
const snapshot = (seq: number, logEpoch = "e") => physical(0, seq, { kind: "snapshot", snapshot: { logEpoch, seq } });
const deltas = (from: number, to: number, ...d: string[]) => physical(from, to, { kind: "deltas", deltas: d });

async function connected(ack: object = { mode: "snapshot", logEpoch: "e" }): Promise<Socket> {
  link.connect();
  Socket.last.answers["v4/conversation/subscribe"] = () => ({ ack: { subscriptionId: "sub", ...ack } });
  Socket.last.answers["v4/conversation/resync"] = () => ({ ack: { subscriptionId: "sub", ...ack } });
  Socket.last.opens();
  await settle();
  return Socket.last;
}
const frames = (socket: Socket, ...list: object[]) => (list.forEach((params) => socket.says({ method: "v4/conversation/frame", params })), settle());

describe("order", () => {
  test("what chains is applied once and in order; what is known already is left out", async () => {
    const store = log();
    followTopic(TOPIC, store);
    const socket = await connected();
    await frames(socket, snapshot(3), deltas(3, 5, "a"), deltas(5, 6, "b"), deltas(5, 6, "b"), deltas(6, 6));
    expect(store.told.filter((x) => x !== "current")).toEqual(["snapshot 3", "3-5: a", "5-6: b", "6-6: "]);
    expect(socket.calls("v4/conversation/resync")).toEqual([]);
  });

  test("frames of another subscription, and deltas before there is a state, are nobody's", async () => {
    const store = log();
    followTopic(TOPIC, store);
    const socket = await connected();
    await frames(socket, deltas(0, 1, "x"), { ...snapshot(1), subscriptionId: "old" }, snapshot(2));
    expect(store.told).toEqual(["snapshot 2", "current"]);
  });

  test("after a gap the cursor is sent, nothing is applied until the answer, and a second gap asks for everything", async () => {
    const store = log();
    const topic = followTopic(TOPIC, store);
    const socket = await connected();
    await frames(socket, snapshot(3), deltas(4, 5, "lost"), deltas(5, 6, "lost too"));
    expect(socket.calls("v4/conversation/resync").map((m) => m.params)).toEqual([{ topic: TOPIC, subscriptionId: "sub", base: { logEpoch: "e", seq: 3 }, forceSnapshot: false }]);
    expect(topic.base).toEqual({ logEpoch: "e", seq: 3 });
    await frames(socket, { ...deltas(4, 6, "wrong"), deliveryKind: "recovery" });
    expect(socket.calls("v4/conversation/resync").at(-1).params).toMatchObject({ base: null, forceSnapshot: true });
    await frames(socket, { ...snapshot(7), deliveryKind: "recovery" }, deltas(7, 8, "on"));
    expect(store.told.filter((x) => x !== "current" && x !== "old")).toEqual(["snapshot 3", "snapshot 7", "7-8: on"]);
    expect(store.told.at(-1)).toBe("current");
  });

  test("a state can come at any time, also of another run", async () => {
    const store = log();
    const topic = followTopic(TOPIC, store);
    await frames(await connected(), snapshot(3), snapshot(1, "e2"), deltas(1, 2, "new"));
    expect(topic.base).toEqual({ logEpoch: "e2", seq: 2 });
  });

  test("a subscription that the hub does not know any more is made again", async () => {
    followTopic(TOPIC, log());
    const socket = await connected();
    socket.answers["v4/conversation/resync"] = () => { throw { code: -32603, message: "fault.subscription.notOwned" }; };
    await frames(socket, snapshot(3), deltas(9, 10, "gap"));
    expect(socket.calls("v4/conversation/subscribe").length).toBe(2);
  });
});

describe("resuming", () => {
  test("after a lost connection the topic goes on from its cursor, and the link is live when all have caught up", async () => {
    const one = log();
    followTopic(TOPIC, one);
    const first = await connected();
    await frames(first, snapshot(3), deltas(3, 4, "a"));
    first.ends(1006);
    await settle();
    link.retryNow();
    const socket = Socket.last;
    socket.opens();
    expect(link.status.value).toMatchObject({ kind: "catchingUp", behind: 1 });
    const [call] = socket.calls("v4/conversation/subscribe");
    expect(call.params).toEqual({ topic: TOPIC, base: { logEpoch: "e", seq: 4 } });
    socket.says({ id: call.id, result: { ack: { subscriptionId: "sub2", mode: "resume", logEpoch: "e" } } });
    await settle();
    expect(link.status.value.kind).toBe("live");
    await frames(socket, { ...deltas(4, 9, "missed"), subscriptionId: "sub2", deliveryKind: "initial" });
    expect(one.told.filter((x) => x.includes(":"))).toEqual(["3-4: a", "4-9: missed"]);
    expect((await import("../src/wire/topics")).caughtUp.value).toMatchObject({ updates: 5, reloaded: false });
  });

  test("one that is opened while all is well makes nothing stale", async () => {
    await connected();
    followTopic(TOPIC, log());
    expect(link.status.value.kind).toBe("live");
  });

  test("what does not exist is lost; what cannot be had for now is asked for again", async () => {
    const store = log();
    followTopic(TOPIC, store);
    link.connect();
    let error = { code: -32043, message: "the app-server restarts" };
    Socket.last.answers["v4/conversation/subscribe"] = () => { throw error; };
    Socket.last.opens();
    await settle();
    expect(store.told).toEqual([]);
    expect(link.status.value.kind).toBe("live");
    error = { code: -32004, message: "Session not found" };
    await vi.advanceTimersByTimeAsync(1_100);
    expect(store.told.at(-1)).toBe("lost -32004");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(Socket.last.calls("v4/conversation/subscribe").length).toBe(2);
  });

  test("a topic that was left hears nothing more, and says so to the hub", async () => {
    const store = log();
    const topic = followTopic(TOPIC, store);
    const socket = await connected();
    topic.leave();
    await frames(socket, snapshot(3));
    expect(store.told).toEqual([]);
    expect(socket.calls("v4/conversation/unsubscribe").length).toBe(1);
  });
});

describe("fragments", () => {
  function fragments(frame: object, size: number, ordinal = 2) {
    const bytes = new TextEncoder().encode(JSON.stringify(frame));
    const count = Math.ceil(bytes.length / size);
    return Array.from({ length: count }, (_, i) => ({
      wireVersion: 3, kind: "fragment", deliveryKind: "online", logicalFrameId: `f${ordinal}`, logicalFrameOrdinal: ordinal, topic: TOPIC, subscriptionId: "sub",
      fragmentIndex: i, fragmentCount: count, logicalBytes: bytes.length, checksum: { algorithm: "crc32", value: crc32(bytes) },
      dataBase64: btoa(String.fromCharCode(...bytes.slice(i * size, (i + 1) * size))),
    }));
  }
  const whole = deltas(3, 4, "überlang 很长 🙂").frame;

  test("are put together whatever their order, and cuts inside a character do no harm", async () => {
    const store = log();
    followTopic(TOPIC, store);
    const socket = await connected();
    const parts = fragments(whole, 7);
    await frames(socket, snapshot(3), ...parts.reverse(), parts[0]!);
    expect(store.told).toContain("3-4: überlang 很长 🙂");
  });

  test.each([
    ["a wrong checksum", (p: any[]) => p.map((x) => ({ ...x, checksum: { algorithm: "crc32", value: "00000000" } }))],
    ["a length that does not fit", (p: any[]) => p.map((x) => ({ ...x, logicalBytes: x.logicalBytes + 1 }))],
    ["what is no base64", (p: any[]) => p.map((x, i) => (i === 1 ? { ...x, dataBase64: "***" } : x))],
    ["another count in between", (p: any[]) => p.map((x, i) => (i === 1 ? { ...x, fragmentCount: 99 } : x))],
    ["more than is allowed", (p: any[]) => p.map((x) => ({ ...x, logicalBytes: 2 ** 30 }))],
  ])("with %s are thrown away, and the topic is asked for again", async (_, spoil) => {
    const store = log();
    followTopic(TOPIC, store);
    const socket = await connected();
    await frames(socket, snapshot(3), ...spoil(fragments(whole, 30)));
    expect(store.told.some((x) => x.startsWith("3-4"))).toBe(false);
    expect(socket.calls("v4/conversation/resync").length).toBe(1);
  });

  test("of an older frame are left out once a newer one has begun", async () => {
    const store = log();
    followTopic(TOPIC, store);
    const socket = await connected();
    const older = fragments(deltas(3, 4, "old").frame, 40, 2), newer = fragments(whole, 40, 3);
    await frames(socket, snapshot(3), older[0]!, newer[0]!, ...older.slice(1), ...newer.slice(1));
    expect(store.told.filter((x) => x.startsWith("3-4"))).toEqual(["3-4: überlang 很长 🙂"]);
  });

  test("the checksum is that of the standard", () => {
    expect(crc32(new TextEncoder().encode("123456789"))).toBe("cbf43926");
  });
});
