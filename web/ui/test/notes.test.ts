import { signal } from "@preact/signals";
import { beforeEach, expect, test, vi } from "vitest";
import { fresh, Socket } from "./browser";

beforeEach(fresh);

test("a restart stands after the last row that was there, wherever it came in the list of what happened", async () => {
  const { link } = await import("../src/wire/link");
  const { join } = await import("../src/state/together");
  const { notesOf } = await import("../src/state/notes");
  const rows: Record<number, number> = { 1: 100, 2: 200, 5: 500 };
  const c = { id: "s1", rowIds: signal([1, 2, 5]), row: (id: number) => signal({ createdAt: rows[id] }) } as any;
  join("s1");
  link.connect();
  Socket.last.answers["hub/activity"] = () => ({ last: 3, entries: [
    { n: 1, at: 50, kind: "appServer" }, { n: 2, at: 300, kind: "appServer" }, { n: 3, at: 350, kind: "prompt" }] });
  Socket.last.opens({ epoch: "one", serverTime: Date.now() });
  await vi.advanceTimersByTimeAsync(20);
  const notes = notesOf(c);
  expect([...notes.value]).toEqual([[2, [{ at: 300, kind: "agentRestarted" }]]]);

  Socket.last.ends(1001);
  await vi.advanceTimersByTimeAsync(5_000);
  Socket.last.opens({ epoch: "two", serverTime: 600 });
  expect(notes.value.get(5)).toEqual([{ at: 600, kind: "hubRestarted" }]);
  rows[9] = 900;
  c.rowIds.value = [1, 2, 5, 9];
  expect([...notes.value.keys()]).toEqual([2, 5]);
});
