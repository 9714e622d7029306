// The live list of sessions: one index topic for each workspace that the hub knows, and what sessions of a workspace can
// be set to.

import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { commandId } from "../wire/ids";
import { link } from "../wire/link";
import { followTopic, type Topic } from "../wire/topics";
import type { Ack, SessionInfo, SessionSummary, SlashCommand, WorkspaceConfig } from "../wire/types";

export interface Workspace {
  id: string; // as V4 names it
  path: string;
  key: string;
}

const LIST_SOON = 400; // ms; what changes the list comes in groups
const LIST_EVERY = 60_000; // ms; the hub tells of new workspaces, so this only mends what went wrong
const LIST_MOST = 200; // sessions; the workspaces of older ones are not followed

export const workspaces = signal<Workspace[]>([]);
export const listed = signal(false); // the list has come at least once

interface Index {
  topic: Topic;
  sessions: Signal<Map<string, SessionSummary>>;
}

const indexes = new Map<string, Index>();
const indexed = signal(0); // counts changes of indexes

// sessions holds all of them, the most recent first.
export const sessions: ReadonlySignal<SessionSummary[]> = computed(() => {
  indexed.value;
  return [...indexes.values()].flatMap((x) => [...x.sessions.value.values()]).sort((a, b) => b.lastActivityAt - a.lastActivityAt);
});

const byId = computed(() => new Map(sessions.value.map((s) => [s.sessionId, s])));

export function session(id: string): SessionSummary | undefined {
  return byId.value.get(id);
}

// workspaceOf tells where a session is, also of one that the index does not list yet.
export function workspaceOf(sessionId: string): string | undefined {
  return session(sessionId)?.workspaceId ?? homes.get(sessionId);
}

const homes = new Map<string, string>(); // sessionId -> workspace id, from session/list and of what was made here

const folderName = (path: string) => path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;
export const workspaceName = (id: string) => folderName(workspaces.value.find((w) => w.id === id)?.path ?? id);

// ---- which workspaces there are

let listing: ReturnType<typeof setTimeout> | undefined;
let asked = false;

export function listSoon(): void {
  clearTimeout(listing);
  listing = setTimeout(() => void list(), LIST_SOON);
}

async function list(): Promise<void> {
  if (asked || !link.hello.value) return; // while the app-server is slow one question is enough
  asked = true;
  try {
    const { sessions: infos = [] } = await link.call<{ sessions: SessionInfo[] }>("session/list", { limit: LIST_MOST });
    batch(() => {
      for (const info of infos) {
        const { workspacePath: path, workspaceKey: key, workspaceIdentity } = info.workspace;
        const id = workspaceIdentity || path;
        homes.set(info.sessionId, id);
        know({ id, path, key });
      }
      listed.value = true;
    });
  } catch {
    // the next greeting, the next sign of a change or the timer asks again
  } finally {
    asked = false;
  }
}

function know(workspace: Workspace): void {
  if (indexes.has(workspace.id)) return;
  workspaces.value = [...workspaces.value, workspace];
  const state = signal(new Map<string, SessionSummary>());
  const topic = followTopic(`sessions-index/${workspace.id}`, {
    snapshot: (snapshot: { sessions: SessionSummary[] }) => {
      state.value = new Map(snapshot.sessions.map((s) => [s.sessionId, s]));
    },
    deltas: (deltas: ({ op: "session.upserted"; session: SessionSummary } | { op: "session.removed"; sessionId: string })[]) => {
      if (!deltas.length) return;
      const next = new Map(state.value);
      for (const d of deltas) {
        if (d.op === "session.upserted") next.set(d.session.sessionId, d.session);
        else if (d.op === "session.removed") next.delete(d.sessionId);
      }
      state.value = next;
    },
    lost: () => forget(workspace.id),
  });
  indexes.set(workspace.id, { topic, sessions: state });
  indexed.value++;
}

function forget(id: string): void {
  indexes.get(id)?.topic.leave();
  indexes.delete(id);
  configs.get(id)?.topic.leave();
  configs.delete(id);
  batch(() => {
    workspaces.value = workspaces.value.filter((w) => w.id !== id);
    indexed.value++;
  });
}

link.on("hub/hello", () => void list());
link.on("hub/workspace", ({ workspace }: { workspace: SessionInfo["workspace"] }) => {
  know({ id: workspace.workspaceIdentity || workspace.workspacePath, path: workspace.workspacePath, key: workspace.workspaceKey });
  listed.value = true;
});
link.on("hub/appServer", ({ state }) => state === "ready" && listSoon());
link.on("hub/activity", ({ sessionId }) => session(sessionId) || listSoon());
setInterval(() => document.hidden || void list(), LIST_EVERY);

// ---- what sessions of a workspace can be set to

const configs = new Map<string, { topic: Topic; config: Signal<WorkspaceConfig | null> }>();

// workspaceConfig follows the options and slash commands of a workspace from the first question on.
export function workspaceConfig(workspaceId: string): Signal<WorkspaceConfig | null> {
  const known = configs.get(workspaceId);
  if (known) return known.config;
  const config = signal<WorkspaceConfig | null>(null);
  const topic = followTopic(`workspace-config/${workspaceId}`, {
    snapshot: (snapshot: { config: WorkspaceConfig }) => (config.value = snapshot.config),
    deltas: (deltas: { op: string; config: WorkspaceConfig }[]) => {
      for (const d of deltas) if (d.op === "config.updated") config.value = d.config;
    },
  });
  configs.set(workspaceId, { topic, config });
  return config;
}

export const slashCommands = (workspaceId: string): SlashCommand[] => workspaceConfig(workspaceId).value?.slashCommands ?? [];

// ---- what can be done with a session from the list

async function command(sessionId: string, type: string, payload: unknown): Promise<void> {
  const ack = await link.call<Ack>("v4/command", { commandId: commandId(), sessionId, type, payload, issuedAt: Math.round(link.now()) });
  if (ack.status === "rejected" || ack.status === "failed" || ack.status === "stale") throw new Error(ack.message || ack.reasonCode);
}

export const renameSession = (sessionId: string, title: string) => command(sessionId, "renameSession", { title });
export const closeSession = (sessionId: string) => command(sessionId, "deleteSession", {});
