import { beforeEach, describe, expect, test, vi } from "vitest";
import { fresh, greeting, http, page, Socket } from "./browser";

let link: typeof import("../src/wire/link").link;
let live: typeof import("../src/wire/link").live;

beforeEach(async () => {
  fresh();
  ({ link, live } = await import("../src/wire/link"));
});

const settle = () => vi.advanceTimersByTimeAsync(0);

async function connected(hello: object = {}): Promise<Socket> {
  link.connect();
  Socket.last.opens(hello);
  await settle();
  return Socket.last;
}

describe("calls", () => {
  test("each answer ends its own call, in whatever order they come", async () => {
    const socket = await connected();
    const first = link.call("one"), second = link.call("two");
    const [a, b] = socket.sent.slice(-2);
    socket.says({ id: b.id, result: "second" });
    socket.says({ id: a.id, error: { code: -32040, message: "no", data: { reason: "right", retryable: false } } });
    await expect(second).resolves.toBe("second");
    await expect(first).rejects.toMatchObject({ code: -32040, message: "no", data: { reason: "right" } });
  });

  test("a call that cannot be sent fails at once, one that nobody answers at its deadline, one whose connection is lost then", async () => {
    await expect(link.call("early")).rejects.toMatchObject({ code: "offline" });
    const socket = await connected();
    const late = expect(link.call("late", {}, { timeoutMs: 1000 })).rejects.toMatchObject({ code: "timeout" });
    await vi.advanceTimersByTimeAsync(1001);
    await late;
    const lost = expect(link.call("lost")).rejects.toMatchObject({ code: "lost" });
    socket.ends(1006);
    await lost;
    expect(link.reply("x", {})).toBe(false);
  });

  test("the agent's questions keep their id, of either type, and an answer carries it back", async () => {
    const asked: unknown[] = [];
    link.onRequest("interaction/requestPermission", (id, params) => asked.push([id, params]));
    const socket = await connected();
    socket.says({ id: "7", method: "interaction/requestPermission", params: { requestId: "p" } });
    socket.says({ id: 7, method: "interaction/requestPermission", params: { requestId: "q" } });
    expect(asked).toEqual([["7", { requestId: "p" }], [7, { requestId: "q" }]]);
    expect(link.reply("7", { decision: "allow" })).toBe(true);
    expect(socket.sent.at(-1)).toEqual({ id: "7", result: { decision: "allow" } });
  });

  test("nothing overtakes the frames that came before it, though they wait for the next picture", async () => {
    const order: string[] = [];
    link.on("v4/conversation/frame", ({ n }) => order.push(`frame ${n}`));
    link.on("hub/interactionSettled", () => order.push("settled"));
    const socket = await connected();
    socket.says({ method: "v4/conversation/frame", params: { n: 1 } });
    socket.says({ method: "v4/conversation/frame", params: { n: 2 } });
    expect(order).toEqual([]);
    socket.says({ method: "hub/interactionSettled", params: {} });
    socket.says({ method: "v4/conversation/frame", params: { n: 3 } });
    await vi.advanceTimersByTimeAsync(20);
    expect(order).toEqual(["frame 1", "frame 2", "settled", "frame 3"]);
  });

  test("a hidden page, which is not drawn, still takes its frames", async () => {
    const order: number[] = [];
    link.on("v4/conversation/frame", ({ n }) => order.push(n));
    const socket = await connected();
    page.hidden = true;
    socket.says({ method: "v4/conversation/frame", params: { n: 1 } });
    expect(order).toEqual([1]);
  });
});

describe("coming back", () => {
  test("a lost connection is cut since its loss until a new greeting, and everything is stale meanwhile", async () => {
    const socket = await connected();
    expect(live.value).toBe(true);
    const lostAt = Date.now();
    socket.ends(1006);
    await settle();
    expect(live.value).toBe(false);
    expect(link.status.value).toMatchObject({ kind: "cut", since: lostAt });
    for (let tries = 0; tries < 3; tries++) {
      await vi.advanceTimersByTimeAsync(link.status.value.retryAt! - Date.now());
      Socket.last.ends(1006);
      await settle();
      expect(link.status.value).toMatchObject({ kind: "cut", since: lostAt });
    }
    expect(Socket.all.length).toBe(4);
    await vi.advanceTimersByTimeAsync(link.status.value.retryAt! - Date.now());
    Socket.last.opens();
    expect(live.value).toBe(true);
  });

  test("the hub's hint is kept to, and only once", async () => {
    const socket = await connected();
    socket.says({ method: "hub/closing", params: { reason: "update", retryAfterMs: 5000 } });
    socket.ends(1001);
    await settle();
    const wait = link.status.value.retryAt! - Date.now();
    expect(wait).toBeGreaterThanOrEqual(5000);
    expect(wait).toBeLessThanOrEqual(5500);
    await vi.advanceTimersByTimeAsync(wait);
    Socket.last.ends(1001);
    await settle();
    expect(link.status.value.retryAt! - Date.now()).toBeLessThanOrEqual(1000);
  });

  test.each([[4403, "revoked"], [1008, "policy"], [1009, "tooBig"], [1002, "broken"]])("after %d the page does not come again", async (code, reason) => {
    (await connected()).ends(code);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(link.status.value).toMatchObject({ kind: "ended", code, reason });
    expect(Socket.all.length).toBe(1);
    expect(link.hello.value).toBe(null);
  });

  test("an expired token is renewed and the page comes back at once", async () => {
    (await connected()).ends(4401);
    await settle();
    expect(http.asked).toContain("api/token");
    expect(Socket.all.length).toBe(2);
  });

  test("an expired token that cannot be renewed ends it", async () => {
    http.answer = (path) => ({ status: path === "api/token" ? 401 : 200 });
    (await connected()).ends(4401);
    await settle();
    expect(link.status.value).toMatchObject({ kind: "ended", reason: "expired" });
  });

  test("a handshake that failed is asked about: an unknown browser is told to sign in, an absent hub is tried again", async () => {
    http.answer = () => ({ status: 401 });
    link.connect();
    Socket.last.ends(1006);
    await settle();
    expect(link.status.value).toMatchObject({ kind: "ended", reason: "signIn" });
    http.answer = () => null;
    link.connect();
    Socket.last.ends(1006);
    await settle();
    expect(link.status.value.kind).toBe("cut");
    expect(link.status.value.retryAt).toBeGreaterThanOrEqual(Date.now());
  });

  test("a renewal whose answer got lost is repeated under the same name", async () => {
    const { renew } = await import("../src/wire/credential");
    http.answer = () => null;
    expect(await renew()).toBe("unknown");
    const attempt = localStorage.getItem("hub.attempt");
    expect(attempt).toBeTruthy();
    http.answer = () => ({ status: 200 });
    expect(await renew()).toBe("yes");
    expect(localStorage.getItem("hub.attempt")).toBe(null);
  });

  test("the token is renewed on the open connection before it ends", async () => {
    http.answer = (path) => ({ status: 200, body: path === "api/tickets" ? { ticket: "t1" } : {} });
    const socket = await connected({ principal: { ...greeting.principal, expiresAt: new Date(Date.now() + 100_000).toISOString() } });
    socket.answers["hub/refreshToken"] = () => ({ expiresAt: new Date(Date.now() + 100_000).toISOString(), rights: [] });
    await vi.advanceTimersByTimeAsync(69_000);
    expect(socket.calls("hub/refreshToken")).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(socket.calls("hub/refreshToken").map((m) => m.params)).toEqual([{ token: "t1" }]);
  });
});

describe("a socket that looks open", () => {
  test("is left for a new one if it does not answer soon after the page came back", async () => {
    const socket = await connected();
    delete socket.answers["hub/ping"];
    link.wake();
    await vi.advanceTimersByTimeAsync(1_900);
    expect(Socket.all.length).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(Socket.all.length).toBe(2);
    expect(link.status.value.kind).toBe("cut");
    socket.says({ method: "hub/hello", params: greeting }); // too late: it is forgotten
    expect(link.status.value.kind).toBe("cut");
    Socket.last.opens();
    expect(live.value).toBe(true);
  });

  test("is kept if anything at all comes from it", async () => {
    const socket = await connected();
    delete socket.answers["hub/ping"];
    link.wake();
    await vi.advanceTimersByTimeAsync(1_000);
    socket.says({ method: "hub/presence", params: {} });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(Socket.all.length).toBe(1);
  });

  test("is found out without anybody coming back, and a slow way is not taken for a dead one", async () => {
    const socket = await connected();
    link.rtt.value = 4_000;
    delete socket.answers["hub/ping"];
    await vi.advanceTimersByTimeAsync(25_000 + 11_000);
    expect(Socket.all.length).toBe(1);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(Socket.all.length).toBe(2);
  });

  test("a page that waits for its next try does it at once when it is looked at", async () => {
    (await connected()).ends(1013);
    await settle();
    expect(Socket.all.length).toBe(1);
    link.wake();
    expect(Socket.all.length).toBe(2);
  });
});
