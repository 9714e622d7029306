import { beforeEach, expect, test, vi } from "vitest";
import { fresh, Socket } from "./browser";

const settle = (ms = 20) => vi.advanceTimersByTimeAsync(ms);
let link: typeof import("../src/wire/link").link;
let m: typeof import("../src/state/sessions");

beforeEach(async () => {
  fresh();
  ({ link } = await import("../src/wire/link"));
  m = await import("../src/state/sessions");
});

const info = (sessionId: string, path: string) => ({ sessionId, workspace: { workspacePath: path, workspaceKey: path } });
const summary = (sessionId: string, lastActivityAt: number, more: object = {}) => ({ sessionId, workspaceId: "/a", title: sessionId, phase: "running", lastActivityAt, ...more });

async function connected(list: () => object[]): Promise<Socket> {
  link.connect();
  Socket.last.answers["session/list"] = () => ({ sessions: list() });
  Socket.last.answers["v4/conversation/subscribe"] = ({ topic }) => ({ ack: { subscriptionId: `sub ${topic}`, mode: "snapshot", logEpoch: "e" } });
  Socket.last.opens();
  await settle();
  return Socket.last;
}

let seq = 0;
async function tell(topic: string, payload: object): Promise<void> {
  const fromSeq = "snapshot" in payload ? 0 : seq;
  Socket.last.says({ method: "v4/conversation/frame", params: { wireVersion: 3, kind: "complete", deliveryKind: "online", logicalFrameId: "f", logicalFrameOrdinal: ++seq, topic, subscriptionId: `sub ${topic}`,
    frame: { topic, subscriptionId: `sub ${topic}`, fromSeq, toSeq: seq, sentAt: 0, payload } } });
  await settle();
}

test("each workspace is followed once, and its sessions are listed by their last sign of life", async () => {
  const socket = await connected(() => [info("s1", "/a"), info("s2", "/a"), info("s3", "/b")]);
  expect(socket.calls("v4/conversation/subscribe").map((c) => c.params.topic)).toEqual(["sessions-index//a", "sessions-index//b"]);
  await tell("sessions-index//a", { kind: "snapshot", snapshot: { logEpoch: "e", sessions: [summary("s1", 1), summary("s2", 5)] } });
  expect(m.sessions.value.map((s) => s.sessionId)).toEqual(["s2", "s1"]);
  await tell("sessions-index//a", { kind: "deltas", deltas: [{ op: "session.upserted", session: summary("s1", 9) }, { op: "session.removed", sessionId: "s2" }, { op: "unknown" }] });
  expect(m.sessions.value.map((s) => s.sessionId)).toEqual(["s1"]);
  expect(m.workspaceOf("s3")).toBe("/b");
});

test("a workspace that somebody else begins to use is found without a reload", async () => {
  const socket = await connected(() => [info("s1", "/a")]);
  socket.says({ method: "hub/workspace", params: { workspace: { workspacePath: "/new", workspaceKey: "/new" } } });
  await settle();
  expect(m.workspaces.value.map((w) => w.id)).toEqual(["/a", "/new"]);
});

test("while the app-server is slow it is asked once", async () => {
  const socket = await connected(() => []);
  delete socket.answers["session/list"];
  for (let i = 0; i < 5; i++) {
    m.listSoon();
    await settle(500);
  }
  expect(socket.calls("session/list").length).toBe(2);
});

test("options and commands of a workspace are followed from the first question on, and only then", async () => {
  const socket = await connected(() => [info("s1", "/a")]);
  const topics = () => socket.calls("v4/conversation/subscribe").map((c) => c.params.topic).filter((t) => t.startsWith("workspace-config"));
  expect(topics()).toEqual([]);
  const config = m.workspaceConfig("/a");
  m.workspaceConfig("/a");
  await settle();
  expect(topics()).toEqual(["workspace-config//a"]);
  await tell("workspace-config//a", { kind: "snapshot", snapshot: { logEpoch: "e", config: { configOptions: [], slashCommands: [{ name: "x" }] } } });
  expect(config.value?.slashCommands).toEqual([{ name: "x" }]);
});

test("a refused rename is an error with the agent's words", async () => {
  const socket = await connected(() => []);
  socket.answers["v4/command"] = ({ commandId }) => ({ commandId, status: "failed", reasonCode: "fault.command.executionFailed", message: "Session not found" });
  await expect(Promise.all([m.renameSession("s1", "New"), settle()])).rejects.toThrow("Session not found");
});
