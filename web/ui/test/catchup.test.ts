import { signal } from "@preact/signals";
import { beforeEach, expect, test, vi } from "vitest";
import { fresh, happens, page, Socket } from "./browser";

const settle = (ms = 20) => vi.advanceTimersByTimeAsync(ms);
let m: typeof import("../src/state/catchup");
let link: typeof import("../src/wire/link").link;

beforeEach(async () => {
  fresh();
  ({ link } = await import("../src/wire/link"));
  m = await import("../src/state/catchup");
  (await import("../src/state/attention")).watchAttention();
});

function conversation() {
  let seq = 10;
  const reloads = signal(0);
  return { id: "s1", state: signal("live"), reloads, seq: () => seq, moves: (n: number) => (seq += n) } as any;
}

async function connected(entries: object[] = []): Promise<Socket> {
  link.connect();
  Socket.last.answers["hub/activity"] = () => ({ entries, last: entries.length });
  Socket.last.opens();
  await settle();
  return Socket.last;
}

function looks(is: boolean): void {
  page.hidden = !is;
  happens("visibilitychange");
}

test("after an absence one line counts the updates and names those who answered, and not oneself", async () => {
  const { join } = await import("../src/state/together");
  join("s1");
  const c = conversation();
  const socket = await connected();
  const watch = m.watchAbsence(c);
  looks(false);
  await settle(60_000);
  c.moves(312);
  const tell = (n: number, by: object) => socket.says({ method: "hub/activity", params: { sessionId: "s1", entry: { n, at: Date.now(), kind: "answer", requestId: `p${n}`, outcome: "allow", by } } });
  tell(1, { name: "laptop", device: "d2" });
  tell(2, { name: "phone", device: "d1" });
  looks(true);
  await settle(1_000);
  expect(watch.missed.value).toMatchObject({ updates: 312, entries: [{ n: 1 }] });
  expect(watch.missed.value!.ms).toBeGreaterThanOrEqual(60_000);
});

test("a short look away, and an absence in which nothing happened, are not worth a line", async () => {
  const c = conversation();
  await connected();
  const watch = m.watchAbsence(c);
  looks(false);
  await settle(5_000);
  c.moves(5);
  looks(true);
  await settle(1_000);
  expect(watch.missed.value).toBe(null);
  looks(false);
  await settle(60_000);
  looks(true);
  await settle(1_000);
  expect(watch.missed.value).toBe(null);
});

test("a connection that was away counts as absence; a state that came anew is said, not counted", async () => {
  const c = conversation();
  const socket = await connected();
  const watch = m.watchAbsence(c);
  socket.ends(1006);
  await settle(25_000);
  link.retryNow();
  c.reloads.value++;
  await connected();
  await settle(1_000);
  expect(watch.missed.value).toMatchObject({ updates: null });
});
