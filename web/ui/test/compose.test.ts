import { signal } from "@preact/signals";
import { beforeEach, expect, test, vi } from "vitest";

vi.mock("../src/wire/link", () => ({ link: { hello: signal(null), status: signal({ kind: "live" }), now: () => 1000, on: () => () => {} }, live: signal(true) }));
const sent: { type: string; payload: any; still: () => boolean; fate: ReturnType<typeof signal<any>> }[] = [];
vi.mock("../src/state/commands", () => ({
  send: (_: string, type: string, payload: any, o: any) => {
    const command = { type, payload, still: o.still, fate: signal<any>({ kind: "sending" }) };
    sent.push(command);
    return command;
  },
  settled: (f: any) => f.kind === "accepted" || f.kind === "refused" || f.kind === "stale" || f.kind === "noop",
  outbox: { outcome: (c: any) => new Promise((resolve) => c.fate.subscribe((f: any) => f.kind !== "sending" && resolve(f))), retry: () => {}, cancel: () => false },
}));

import { asked, matching, spoken } from "../src/ui/compose/slash";
import { fateText, reason } from "../src/ui/compose/words";
import { initials } from "../src/ui/together/person";
import { Steering } from "../src/state/steering";

test.each([
  ["/", 1, ""], ["/co", 3, "co"], ["/CO", 3, "co"], ["/co", 1, ""],
  ["", 0, null], ["a /co", 5, null], ["/compact ", 9, null], ["/a/b", 4, null], [" /co", 4, null],
])("the text %j asks the menu of commands for %j", (text, caret, want) => expect(asked(text, caret)).toBe(want));

test("commands that begin with what was typed come before those that contain it", () => {
  const all = ["compact", "goal", "recompile", "/code"].map((name) => ({ name, description: "" }));
  expect(matching(all, "co").map((c) => c.name)).toEqual(["compact", "/code", "recompile"]);
  expect(matching(all, "x")).toEqual([]);
});

test.each([
  ["/compact", "compact"], ["/compact keep the plan", "text"], ["/goal ship it", "goal"], ["/goal", "goal"], ["/stop", "stop"],
  ["/stop it", "text"], ["/init", "text"], ["/goalkeeper", "text"], ["say /stop", "text"], ["/usr/bin/env", "text"],
])("%j is %s", (text, kind) => expect(spoken(text).kind).toBe(kind));

test("the mode is what comes after its command", () => {
  expect(spoken("/mode  plan ")).toEqual({ kind: "mode", mode: "plan" });
  expect(spoken("/mode")).toEqual({ kind: "mode", mode: "" });
});

test.each([["Ada Lovelace", "AL"], ["phone", "PH"], ["Linux Chrome 2", "L2"], ["小明的手机", "小"], ["", "?"], ["x", "X"], ["my-old_phone", "MP"]])(
  "the initials of %j are %s", (name, want) => expect(initials(name)).toBe(want));

test("every fate has words, and an unknown reason shows what the agent said", () => {
  for (const kind of ["unsent", "sending", "asking", "accepted", "queued", "cancelled"] as const) expect(fateText({ kind } as any)).toMatch(/\w{4}/);
  expect(fateText({ kind: "waiting", until: 3500, code: "-32043" })).toBe("The agent is not available: it is starting anew. Next try in 3 s.");
  expect(fateText({ kind: "refused", code: "-32041", by: "Laptop" })).toBe("Not sent. Laptop steers this session now.");
  expect(fateText({ kind: "refused", code: "activePrompt" })).toBe("Not sent. The agent is busy with another prompt.");
  expect(reason("brandNew", "It is full moon.")).toBe("It is full moon.");
  expect(reason("brandNew")).toBe("The agent said: brandNew");
});

const item = (id: string, text = id) => ({ queueItemId: id, text }) as any;
let head: ReturnType<typeof signal<any>>;
let steering: Steering;
beforeEach(() => {
  sent.length = 0;
  head = signal({ queue: { items: ["a", "b", "c"].map((id) => item(id)), autoDrain: true }, config: { mode: "build" }, control: { activeWorks: [{ kind: "primaryTurn", foregroundExecutionId: "x1" }] } });
  steering = new Steering({ id: "s1", head } as any);
});

test.each([
  ["a", 1, "c"], ["b", 1, null], ["b", -1, "a"], ["c", -1, "b"],
] as const)("moving %s by %i puts it before %s", (id, by, before) => {
  steering.moveItem(item(id), by);
  expect(sent.map((c) => c.payload)).toEqual([{ queueItemId: id, beforeQueueItemId: before }]);
});

test("what cannot be moved further is not moved", () => {
  steering.moveItem(item("a"), -1);
  steering.moveItem(item("c"), 1);
  steering.moveItem(item("gone"), 1);
  expect(sent).toEqual([]);
});

test("a stop names the turn that is seen", () => {
  steering.stop();
  expect(sent[0]!.payload).toEqual({ expectedForegroundExecutionId: "x1" });
});

test("a change of the queue holds as long as what it is about is the same", () => {
  steering.deleteItem(item("b"));
  steering.moveItem(item("a"), 1);
  const [remove, move] = sent;
  expect([remove!.still(), move!.still()]).toEqual([true, true]);
  head.value = { ...head.value, queue: { items: [item("b"), item("a"), item("c")], autoDrain: true } };
  expect([remove!.still(), move!.still()]).toEqual([true, false]);
  head.value = { ...head.value, queue: { items: [item("b", "edited by somebody"), item("a")], autoDrain: true } };
  expect(remove!.still()).toBe(false);
});

test("a setting is shown as asked for until it is in force or refused", async () => {
  steering.setMode("plan");
  expect(steering.wanted.value).toEqual({ mode: "plan" });
  sent[0]!.fate.value = { kind: "accepted" };
  head.value = { ...head.value, config: { mode: "plan" } };
  await vi.waitFor(() => expect(steering.wanted.value).toEqual({}));
  steering.setMode("edit");
  sent[1]!.fate.value = { kind: "refused", code: "-32041" };
  await vi.waitFor(() => expect(steering.wanted.value).toEqual({}));
  expect(steering.note.value?.fate.kind).toBe("refused");
});
