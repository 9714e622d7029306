// The agent's questions to people, in all sessions: what waits, what became of this page's answers, and how each question
// ended. The hub decides; this file only believes what it is told, and answers no question twice.

import { computed, effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import { CallError, link } from "../wire/link";
import type { Ack, ActivityEntry, Person, Question } from "../wire/types";
import { commandId } from "../wire/ids";

export type Kind = "permission" | "userInput" | "plan";

/** One of the answers that a permission request offers; response is what goes back. */
export interface Option {
  optionId: string;
  kind: string;
  name?: string;
  description?: string;
  response: Record<string, unknown>;
}

/** What the agent sends with a question. It may hold anything, so the page reads it with care. */
export interface AskParams {
  requestId: string;
  sessionId: string;
  toolCallId?: string;
  toolName?: string;
  reason?: string;
  riskLevel?: string;
  input?: unknown;
  origin?: { agentType?: string };
  options?: Option[];
  prompt?: string;
  questions?: Question[];
  schema?: { interaction?: string; serverName?: string; requestedSchema?: Form };
  sensitive?: boolean;
}

/** The form of an MCP server: a flat JSON schema. */
export interface Form {
  properties?: Record<string, FormProperty>;
  required?: string[];
}

export interface FormProperty {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: (string | number)[];
  enumNames?: string[];
  items?: { enum?: string[] };
  format?: string;
  writeOnly?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
}

/** An answer that a person chose. key names the button; result goes to the agent, or the V4 option of that name. */
export interface Choice {
  key: string;
  label: string;
  result?: unknown;
  optionId?: string;
}

/** The key of the choice to let the agent go on without an answer, which it takes for an answer. */
export const SKIP = "skip";

/** A choice on its way: when it was made (the hub's clock), and the connection on which it went out, if it did. */
interface Sent extends Choice {
  at: number;
  on: string | null;
}

/** What became of the answer so far. How a question ended is a Line. */
export type Fate =
  | { kind: "open"; refused?: string } // refused: why this page's last answer did not count
  | { kind: "kept"; sent: Sent } // made while the connection was cut; goes out if the question is still open then
  | { kind: "sending"; sent: Sent }
  | { kind: "sent"; sent: Sent } // the hub took it; the agent has yet to confirm
  | { kind: "taken"; by: Person | null; at: number; sent?: Sent }; // another answer was first; null: nobody said whose

export interface Ask {
  id: string; // of the request, for the hub: the same on every connection
  requestId: string; // the agent's
  sessionId: string;
  kind: Kind;
  params: AskParams;
  openedAt: number;
  answerable: boolean; // false: this client may only look
  fate: Signal<Fate>;
}

/** How a question ended. It stays in the history of its session. */
export interface Line {
  requestId: string;
  sessionId: string;
  kind?: Kind; // undefined: this page never saw the question
  toolCallId?: string;
  toolName?: string;
  subject: string;
  outcome: string;
  by: Person | null; // null: nobody said
  mine: boolean; // by this device
  at: number;
  lateBy?: number; // ms by which this page's own answer came after the decision
}

const GRACE = 12_000; // ms; the hub settles within 10 s what the agent does not confirm
const MAX_LINES = 512; // of one session, as many as the hub remembers
const SHORT = 60; // characters of a subject that still fit on two lines of a phone

/** All questions that have not ended, oldest first. */
export const asks: Signal<Ask[]> = signal([]);

/** The newest end of a question that this page had shown. */
export const ended: Signal<Line | null> = signal(null);

/** What still waits for somebody: not what was decided and only lacks the agent's word. */
export const waiting: ReadonlySignal<Ask[]> = computed(() => asks.value.filter((a) => waits(a.fate.value)));

const waits = (fate: Fate) => fate.kind === "open" || fate.kind === "kept" || fate.kind === "sending";

const histories = new Map<string, Signal<Line[]>>();
const losers = new Map<string, Line>(); // lines of questions that ended while this page's answer was on its way
let epoch = ""; // the run of the hub that the questions come from
let connection = ""; // the hub's name for the connection

/** How the questions of a session ended, oldest first. */
export const linesOf = (sessionId: string): ReadonlySignal<Line[]> => history(sessionId);

function history(sessionId: string): Signal<Line[]> {
  let lines = histories.get(sessionId);
  if (!lines) histories.set(sessionId, (lines = signal([])));
  return lines;
}

const find = (requestId: string) => asks.peek().find((a) => a.requestId === requestId);

// ---- answering

/**
 * answer sends what a person chose, or keeps it while the connection is cut. It is false, and nothing happens, if this
 * page or somebody else has answered already: a second tap is not a second answer.
 */
export function answer(requestId: string, choice: Choice): boolean {
  const ask = find(requestId);
  if (!ask?.answerable || ask.fate.peek().kind !== "open") return false;
  deliver(ask, { ...choice, at: link.now(), on: null });
  return true;
}

/** takeBack drops a kept answer: the question is open again. */
export function takeBack(requestId: string): void {
  const ask = find(requestId);
  if (ask?.fate.peek().kind === "kept") ask.fate.value = { kind: "open" };
}

/** snooze calls off that the agent goes on by itself if nobody answers. */
export const snooze = (ask: Ask) => command(ask.sessionId, "snoozeInteractionAutoResolution", { interactionId: ask.requestId });

function deliver(ask: Ask, sent: Sent): void {
  const out: Sent = { ...sent, on: connection };
  ask.fate.value = { kind: "sending", sent: out };
  if (sent.optionId !== undefined) void resolve(ask, sent.optionId);
  else if (!link.reply(ask.id, sent.result)) ask.fate.value = { kind: "kept", sent };
}

// resolve answers by a V4 command, for options that a plain reply cannot name.
async function resolve(ask: Ask, optionId: string): Promise<void> {
  try {
    const ack = await command(ask.sessionId, "resolveInteraction", { interactionId: ask.requestId, answer: { optionId } });
    const taken = ["accepted", "noop", "duplicate"].includes(ack.status);
    if (taken && ack.result?.resolvedBy) return; // late: hub/answer says so
    judged({ requestId: ask.requestId, status: taken ? "accepted" : "invalid", reason: ack.message ?? ack.reasonCode });
  } catch (error) {
    const { code, message } = error as CallError;
    const fate = ask.fate.peek();
    if (code === "offline" && fate.kind === "sending") ask.fate.value = { kind: "kept", sent: { ...fate.sent, on: null } };
    else if (code !== "lost") judged({ requestId: ask.requestId, status: "invalid", reason: message });
  }
}

const command = (sessionId: string, type: string, payload: object) =>
  link.call<Ack<{ resolvedBy?: Person }>>("v4/command", { commandId: commandId(), sessionId, type, payload, issuedAt: link.now() });

/** What the hub says of an answer. */
interface Verdict {
  id?: string;
  requestId?: string;
  status: "accepted" | "late" | "invalid" | "unknown";
  reason?: string;
  decidedBy?: Person;
  decidedAt?: string;
}

function judged(verdict: Verdict): void {
  const ask = asks.peek().find((a) => a.id === verdict.id) ?? find(verdict.requestId ?? "");
  if (!ask) return lateForLine(verdict);
  const fate = ask.fate.peek();
  const sent = "sent" in fate ? fate.sent : undefined;
  switch (verdict.status) {
    case "accepted":
      if (sent) ask.fate.value = { kind: "sent", sent };
      return;
    case "late":
      // The same answer may have gone out twice, around a cut.
      if (sent && isMe(verdict.decidedBy)) ask.fate.value = { kind: "sent", sent };
      else ask.fate.value = { kind: "taken", by: verdict.decidedBy ?? null, at: time(verdict.decidedAt), sent };
      return;
    case "invalid":
      ask.fate.value = { kind: "open", refused: verdict.reason ?? verdict.status };
      return;
    case "unknown": // it did not count; the hub's list says whether the question is still there
      ask.fate.value = { kind: "open", refused: verdict.reason ?? verdict.status };
      void reconcile();
  }
}

// lateForLine notes how late an answer was whose question had ended on the screen before the verdict came.
function lateForLine({ requestId, status, decidedAt }: Verdict): void {
  const line = losers.get(requestId ?? "");
  losers.delete(requestId ?? "");
  if (!line || status !== "late") return;
  const lines = history(line.sessionId);
  const lateBy = Math.max(0, line.lateBy! + line.at - time(decidedAt));
  lines.value = lines.peek().map((l) => (l.requestId === line.requestId && l.at === line.at ? { ...l, lateBy } : l));
}

// ---- what the hub shows

function show(id: string | number, params: AskParams, answerable: boolean, openedAt?: string | number): void {
  const known = find(params.requestId);
  if (known?.id === String(id)) {
    known.answerable = answerable;
    if (openedAt) known.openedAt = time(openedAt);
    asks.value = oldestFirst(asks.peek());
    return again(known);
  }
  const ask: Ask = {
    id: String(id),
    requestId: params.requestId,
    sessionId: params.sessionId,
    kind: kindOf(params),
    params,
    openedAt: time(openedAt),
    answerable,
    fate: signal<Fate>({ kind: "open" }),
  };
  asks.value = oldestFirst([...asks.peek().filter((a) => a !== known), ask]);
}

const oldestFirst = (list: Ask[]) => [...list].sort((a, b) => a.openedAt - b.openedAt);

// again: what is shown again is still open, so an answer that was kept, or that may have been lost on the way, goes out
// now. The hub counts the first only.
function again(ask: Ask): void {
  const fate = ask.fate.peek();
  if (fate.kind === "taken") ask.fate.value = { kind: "open" };
  else if (fate.kind === "kept" || fate.kind === "sent" || (fate.kind === "sending" && fate.sent.on !== connection)) deliver(ask, fate.sent);
}

function kindOf(params: AskParams): Kind {
  if (params.schema?.interaction === "plan_approval") return "plan";
  return Array.isArray(params.options) ? "permission" : "userInput";
}

/** A settlement, as the hub tells of it. */
interface Settlement {
  requestId: string;
  sessionId: string;
  outcome: string;
  by?: Person;
  at: string | number;
  toolCallId?: string;
  toolName?: string;
}

function settled(s: Settlement): void {
  const ask = find(s.requestId);
  const by = s.by ?? null;
  const line: Line = {
    requestId: s.requestId,
    sessionId: s.sessionId,
    kind: ask?.kind,
    toolCallId: ask?.params.toolCallId ?? s.toolCallId,
    toolName: ask?.params.toolName ?? s.toolName,
    subject: ask ? subjectOf(ask.params) : "",
    outcome: s.outcome,
    by,
    mine: by !== null && isMe(by),
    at: time(s.at),
  };
  if (ask) lateness(line, ask.fate.peek());
  if (ask && skipped(line, ask.fate.peek())) line.outcome = SKIP;
  remember(line);
  if (!ask) return;
  asks.value = asks.peek().filter((a) => a !== ask);
  ended.value = line;
}

// lateness compares this page's own answer with the one that counted.
function lateness(line: Line, fate: Fate): void {
  if (line.mine || fate.kind === "kept" || !("sent" in fate) || !fate.sent) return;
  line.lateBy = Math.max(0, fate.sent.at - (fate.kind === "taken" ? fate.at : line.at));
  if (fate.kind === "sending") losers.set(line.requestId, line);
}

const skipped = (line: Line, fate: Fate) => line.mine && line.outcome === "accept" && "sent" in fate && fate.sent?.key === SKIP;

// remember adds a line, or betters one that knew less. A question that was asked anew has a second line.
function remember(line: Line): void {
  const lines = history(line.sessionId);
  const old = lines.peek().find((l) => l.requestId === line.requestId && (l.at === line.at || l.by === null));
  const rest = lines.peek().filter((l) => l !== old);
  lines.value = [...rest, old ? better(old, line) : line].sort((a, b) => a.at - b.at).slice(-MAX_LINES);
}

function better(old: Line, line: Line): Line {
  return {
    ...line,
    outcome: old.outcome === SKIP ? SKIP : line.outcome,
    kind: line.kind ?? old.kind,
    toolCallId: line.toolCallId ?? old.toolCallId,
    toolName: line.toolName ?? old.toolName,
    subject: line.subject || old.subject,
    lateBy: line.lateBy ?? old.lateBy,
  };
}

// ---- coming back

/** reconcile compares what this page holds with what the hub says is open. */
async function reconcile(): Promise<void> {
  const held = asks.peek(); // what is shown from now on is open for certain
  const on = connection;
  let list: { pending: { id: string; openedAt: string; requestId: string; params: AskParams }[]; settled: Settlement[] };
  try {
    list = await link.call("hub/pendingInteractions", {});
  } catch {
    return; // cut again: the next connection asks anew
  }
  if (on !== connection) return;
  const open = new Set(list.pending.map((p) => p.requestId));
  for (const s of list.settled) if (!open.has(s.requestId)) settled(s);
  for (const p of list.pending) show(p.id, p.params, mayAnswer.peek(), p.openedAt);
  for (const ask of held) if (!open.has(ask.requestId) && find(ask.requestId) === ask) missing(ask);
}

// missing: a question that is neither open nor settled was decided a moment ago, or the hub has forgotten it.
function missing(ask: Ask): void {
  const fate = ask.fate.peek();
  if (fate.kind === "open" || fate.kind === "kept") ask.fate.value = { kind: "taken", by: null, at: link.now() };
  setTimeout(() => {
    if (find(ask.requestId) === ask && ask.fate.peek().kind !== "open") withdraw(ask, "unknown");
  }, GRACE);
}

const withdraw = (ask: Ask, outcome: string) => settled({ requestId: ask.requestId, sessionId: ask.sessionId, outcome, at: link.now() });

/** noteActivity takes what the hub remembers of a session: it tells what was asked where this page did not see it. */
export function noteActivity(sessionId: string, entries: ActivityEntry[]): void {
  for (const e of entries) {
    if (e.kind !== "answer" || !e.requestId || !e.outcome || find(e.requestId)) continue;
    const by = e.by ?? null;
    const told: Line = { requestId: e.requestId, sessionId, toolCallId: e.toolCallId, toolName: e.toolName, subject: short(e.summary ?? ""), outcome: e.outcome, by, mine: by !== null && isMe(by), at: time(e.at) };
    const lines = history(sessionId);
    const known = lines.peek().find((l) => l.requestId === e.requestId && l.by !== null);
    if (!known) remember(told);
    else if (!known.toolCallId) lines.value = lines.peek().map((l) => (l === known ? better(told, known) : l));
  }
}

// ---- who this is

/** The rights that matter here: to answer at all, and to decide for longer than this once. */
export const mayAnswer: ReadonlySignal<boolean> = computed(() => link.hello.value?.principal.rights.includes("answer") ?? false);
export const mayDecideForLong: ReadonlySignal<boolean> = computed(() => link.hello.value?.principal.rights.includes("control") ?? false);

function isMe(by: Person | undefined): boolean {
  const me = link.hello.peek()?.principal;
  if (!me || !by) return false;
  return by.device || me.device ? by.device === me.device : by.name === me.name;
}

// ---- words

/** subjectOf names in one line what a question is about. */
export function subjectOf(params: AskParams): string {
  if (kindOf(params) === "permission") return short(commandOf(params.input) ?? pathOf(params.input) ?? "");
  return short(params.questions?.[0]?.question ?? params.prompt ?? "");
}

function short(text: string): string {
  const line = text.slice(0, 4 * SHORT).replace(/\s+/g, " ").trim();
  return line.length > SHORT ? `${line.slice(0, SHORT)}…` : line;
}

/** commandOf is the command that a tool would run, pathOf the file or address that it would touch. */
export const commandOf = (input: unknown): string | undefined => member(input, "command") ?? member(input, "cmd");
export const pathOf = (input: unknown): string | undefined => member(input, "file_path") ?? member(input, "path") ?? member(input, "url");

function member(input: unknown, key: string): string | undefined {
  const value = typeof input === "object" && input !== null ? (input as Record<string, unknown>)[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

const time = (at?: string | number) => (typeof at === "number" ? at : (at && Date.parse(at)) || link.now());

// ---- wiring

/** startAsks listens to the hub; called once, at boot. What it returns ends that. */
export function startAsks(): () => void {
  const stops = [
    link.onRequest("interaction/requestPermission", (id, params) => show(id, params, true)),
    link.onRequest("interaction/requestUserInput", (id, params) => show(id, params, true)),
    link.on("hub/interaction", (p) => show(p.id, p.params, false, p.openedAt)),
    link.on("hub/answer", judged),
    link.on("hub/interactionSettled", settled),
    link.on("hub/activity", ({ sessionId, entry }) => noteActivity(sessionId, [entry])),
    effect(() => {
      const hello = link.hello.value;
      if (hello) untracked(() => arrived(hello.epoch, hello.connectionId));
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

function arrived(newEpoch: string, newConnection: string): void {
  const restarted = epoch !== "" && epoch !== newEpoch;
  epoch = newEpoch;
  connection = newConnection;
  if (restarted) for (const ask of asks.peek()) withdraw(ask, "hubRestarted");
  void reconcile();
}
