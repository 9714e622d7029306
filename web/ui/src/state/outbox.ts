import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { commandId } from "../wire/ids";

// The outbox holds every command of this browser until it is known what became of it. A command has one name, its id, for
// all its life: it is stored before it is sent, asked for by name after a broken connection or a reload, and sent again under
// the same name only if the agent does not know it. So it takes effect once, or somebody reads why not.

// What became of a command.
export type Fate =
  | { kind: "unsent" } // there is no connection: it goes when there is one, and can be taken back
  | { kind: "sending" }
  | { kind: "asking" } // the connection broke on the way: it is asked what became of it
  | { kind: "waiting"; until: number; code: string } // the hub said to come again later
  | { kind: "accepted"; delivery?: Delivery; result?: AckResult }
  | { kind: "queued"; delivery: "queue"; result?: AckResult }
  | { kind: "noop"; code: string } // there was nothing to do
  | { kind: "stale"; code: string } // things changed meanwhile: look again, then decide again
  | { kind: "refused"; code: string; message?: string; by?: string }
  | { kind: "cancelled" };

export type Delivery = "startNow" | "queue" | "guide";
export interface AckResult { type?: string; sessionId?: string; delivery?: Delivery; input?: { delivery?: Delivery } }
export type Payload = Record<string, unknown>;
// Which state of a session a command is about; those that change what is there need it.
export interface Base { revision: number; logEpoch: string }

export interface Command {
  readonly id: string;
  readonly sessionId: string | null;
  readonly type: string;
  readonly payload: Payload;
  readonly at: number;
  readonly fate: ReadonlySignal<Fate>;
}

export interface SendOptions {
  base?: Base;
  // Whether what the command is about is still as the person saw it. While it is, a command that came too late is sent anew by
  // itself: a running turn changes the revision all the time, and none of that has to do with, say, the mode.
  still?: () => boolean;
}

// What the outbox needs of the connection.
export interface Wire {
  live: ReadonlySignal<boolean>;
  device(): string | undefined;
  now(): number;
  call<T>(method: string, params: unknown, o?: { timeoutMs?: number }): Promise<T>;
  base(sessionId: string): Base | null;
}

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

interface Entry extends Command {
  id: string;
  at: number;
  readonly fate: Signal<Fate>;
  base?: Base;
  still?: () => boolean;
  device?: string;
  // Whether it may have reached the agent.
  sent: boolean;
  tries: number;
  again?: ReturnType<typeof setTimeout>;
}

interface Ack {
  commandId: string;
  status: "accepted" | "rejected" | "stale" | "duplicate" | "noop" | "failed";
  reasonCode?: string;
  message?: string;
  revisionAtDecision?: number;
  result?: AckResult;
}

const prefix = "hub.command.";
// The agent forgets a command after 24 hours; what waited longer is shown, and sent only if a person says so again.
export const keptFor = 24 * 3600_000;
// The hub gives the agent 180 s; whoever waits a minute would rather know where the command is.
const ackTimeout = 60_000;
// An accepted prompt is in the transcript or in the queue at once; if it is not seen there, it is somewhere in the history.
const shownFor = 10_000;
// How often a command that came too late is sent anew by itself.
const freshTries = 5;
// As many commands as one v4/commands/query takes.
const queryLimit = 64;

// Commands that name a row need the epoch as well.
const needsEpoch = new Set(["applyFileRewind", "forkAssistant", "editUserQuery", "retryTurn", "setAssistantFeedback"]);
const needsBase = new Set([...needsEpoch, "sendQueuedNow", "editQueueItem", "reorderQueueItem", "deleteQueueItem", "setAutoDrain",
  "switchModelConfig", "switchCollaborationMode", "setFollowupMode", "pauseGoal", "resumeGoal"]);
// Prompts are what somebody typed: refused or not, that text stays until it is sent or thrown away by hand.
export const isPrompt = (c: Pick<Command, "type" | "payload">) =>
  c.type === "sendText" || c.type === "sendGoalCommand" || (c.type === "createSession" && c.payload.firstInput != null);

export const settled = (f: Fate) => f.kind === "accepted" || f.kind === "queued" || decided(f) || f.kind === "cancelled";
// The agent, or the hub, has said no.
const decided = (f: Fate): f is Extract<Fate, { code: string }> & { kind: "noop" | "stale" | "refused" } =>
  f.kind === "noop" || f.kind === "stale" || f.kind === "refused";

export class Outbox {
  private readonly entries = signal<readonly Entry[]>([]);
  private readonly lists = new Map<string | null, ReadonlySignal<readonly Command[]>>();

  constructor(private readonly wire: Wire, private readonly store: Store | null) {
    this.entries.value = this.load();
    wire.live.subscribe((live) => (live ? void this.recover() : this.interrupt()));
  }

  // The commands of a session, or of none, that somebody may still want to see; oldest first.
  of(sessionId: string | null): ReadonlySignal<readonly Command[]> {
    let list = this.lists.get(sessionId);
    if (!list) {
      list = computed(() => this.entries.value.filter((c) => c.sessionId === sessionId));
      this.lists.set(sessionId, list);
    }
    return list;
  }

  send(sessionId: string | null, type: string, payload: Payload, o: SendOptions = {}): Command {
    const base = needsBase.has(type) && sessionId ? (o.base ?? this.wire.base(sessionId) ?? undefined) : undefined;
    const entry: Entry = {
      id: commandId(this.wire.now()), sessionId, type, payload, at: this.wire.now(), fate: signal<Fate>({ kind: "unsent" }),
      base, still: o.still, device: this.wire.device(), sent: false, tries: 0,
    };
    this.entries.value = [...this.entries.value, entry];
    this.save(entry);
    if (this.wire.live.peek()) void this.transmit(entry);
    return entry;
  }

  // Sends a command again that was refused, came too late or is undecided. What was decided keeps its decision under its old
  // name, so the new attempt has a new one.
  retry(command: Command): Command {
    const entry = this.find(command);
    const fate = command.fate.peek();
    if (!entry || (decided(fate) && fate.code !== "otherDevice")) {
      this.forget(command);
      return this.send(command.sessionId, command.type, command.payload, { still: entry?.still });
    }
    clearTimeout(entry.again);
    entry.device = this.wire.device();
    entry.fate.value = { kind: "unsent" };
    this.save(entry);
    if (this.wire.live.peek()) void (entry.sent ? this.ask([entry]) : this.transmit(entry));
    return entry;
  }

  // Takes back what has not left this browser; false if it is too late for that.
  cancel(command: Command): boolean {
    const entry = this.find(command);
    if (!entry || entry.sent || settled(entry.fate.peek())) return false;
    entry.fate.value = { kind: "cancelled" };
    this.forget(entry);
    return true;
  }

  // Removes a command from the list and from the store.
  forget(command: Command): void {
    const entry = this.find(command);
    if (!entry) return;
    clearTimeout(entry.again);
    this.store?.removeItem(prefix + command.id);
    this.entries.value = this.entries.value.filter((e) => e !== entry);
  }

  // Resolves when it is known what became of a command.
  outcome(command: Command): Promise<Fate> {
    return new Promise((resolve) => {
      let stop: (() => void) | undefined;
      stop = command.fate.subscribe((fate) => {
        if (!settled(fate)) return;
        resolve(fate);
        queueMicrotask(() => stop?.());
      });
    });
  }

  private find(command: Command): Entry | undefined {
    return this.entries.peek().find((e) => e.id === command.id);
  }

  private async transmit(entry: Entry): Promise<void> {
    entry.sent = true;
    entry.tries++;
    entry.fate.value = { kind: "sending" };
    this.save(entry);
    const attempt = entry.tries;
    try {
      this.decide(entry, await this.wire.call<Ack>("v4/command", {
        commandId: entry.id, sessionId: entry.sessionId, type: entry.type, payload: entry.payload, issuedAt: Math.round(entry.at),
        ...(entry.base && { baseRevision: entry.base.revision }),
        ...(entry.base && needsEpoch.has(entry.type) && { baseLogEpoch: entry.base.logEpoch }),
      }, { timeoutMs: ackTimeout }));
    } catch (error) {
      if (attempt === entry.tries) this.failed(entry, error);
    }
  }

  private decide(entry: Entry, ack: Ack): void {
    if (settled(entry.fate.peek())) return;
    const code = ack.reasonCode ?? ack.status;
    const delivery = ack.result?.delivery ?? ack.result?.input?.delivery;
    switch (ack.status) {
      case "accepted":
      case "duplicate":
        return this.settle(entry, delivery === "queue" ? { kind: "queued", delivery, result: ack.result }
          : { kind: "accepted", delivery, result: ack.result });
      case "noop":
        return this.settle(entry, { kind: "noop", code });
      case "stale":
        if (this.renewed(entry, ack)) return;
        return this.settle(entry, { kind: "stale", code });
      default:
        return this.settle(entry, { kind: "refused", code, message: ack.message });
    }
  }

  // Sends a stale command anew, on what is there now, if what it is about has not changed.
  private renewed(entry: Entry, ack: Ack): boolean {
    if (entry.tries >= freshTries || !entry.still?.() || entry.sessionId === null) return false;
    const seen = this.wire.base(entry.sessionId);
    if (!seen) return false;
    this.store?.removeItem(prefix + entry.id);
    entry.id = commandId(this.wire.now());
    entry.base = { logEpoch: seen.logEpoch, revision: Math.max(seen.revision, ack.revisionAtDecision ?? 0) };
    void this.transmit(entry);
    return true;
  }

  private settle(entry: Entry, fate: Fate): void {
    entry.fate.value = fate;
    if (!isPrompt(entry)) return this.forget(entry);
    if (decided(fate)) return this.save(entry);
    if (entry.sessionId === null) return this.forget(entry);
    this.store?.removeItem(prefix + entry.id);
    entry.again = setTimeout(() => this.forget(entry), shownFor);
  }

  private failed(entry: Entry, error: unknown): void {
    if (settled(entry.fate.peek())) return;
    const e = error as { code?: number | string; message?: string; data?: ErrorData };
    const data = e.data ?? {};
    if (typeof e.code === "string") { // no answer: the connection broke, or nothing came in time
      entry.fate.value = { kind: "asking" };
      if (this.wire.live.peek()) this.later(entry, 1000);
      return;
    }
    switch (e.code) {
      case -32044: // the agent did not answer in time; it may still
      case -32046: // the hub is about to go: whatever it did with this, its successor knows
        entry.fate.value = { kind: "asking" };
        return this.later(entry, data.retryAfterMs ?? 2000);
      case -32042:
      case -32043: {
        const wait = data.retryAfterMs ?? Math.min(30_000, 1000 * 2 ** entry.tries);
        entry.fate.value = { kind: "waiting", until: this.wire.now() + wait, code: String(e.code) };
        return this.later(entry, wait);
      }
      default:
        return this.settle(entry, { kind: "refused", code: String(e.code ?? "unknown"), message: e.message, by: data.holder?.name });
    }
  }

  // Goes after an undecided command in a while. A cut ends that, and recover takes over.
  private later(entry: Entry, ms: number): void {
    clearTimeout(entry.again);
    entry.again = setTimeout(() => this.wire.live.peek() && void this.ask([entry]), ms);
  }

  private interrupt(): void {
    for (const entry of this.entries.peek()) {
      if (settled(entry.fate.peek())) continue;
      clearTimeout(entry.again);
      entry.fate.value = entry.sent ? { kind: "asking" } : { kind: "unsent" };
    }
  }

  // After a reconnect or a reload: asks for what was on its way, then sends what is not known, in the order it was written.
  private recover(): Promise<void> {
    return this.ask(this.entries.peek().filter((e) => !settled(e.fate.peek())));
  }

  private async ask(entries: readonly Entry[]): Promise<void> {
    const device = this.wire.device();
    const now = this.wire.now();
    const due: Entry[] = [];
    for (const entry of entries) {
      if (entry.device && device && entry.device !== device) this.settle(entry, { kind: "refused", code: "otherDevice" });
      else if (now - entry.at > keptFor) this.settle(entry, { kind: "refused", code: "tooOld" });
      else due.push(entry);
    }
    const sent = due.filter((e) => e.sent);
    for (let i = 0; i < sent.length; i += queryLimit) {
      if (!(await this.query(sent.slice(i, i + queryLimit)))) return;
    }
    for (const entry of due) if (!settled(entry.fate.peek()) && this.wire.live.peek()) void this.transmit(entry);
  }

  // Learns what became of commands; false if it is not to be learnt now.
  private async query(entries: readonly Entry[]): Promise<boolean> {
    for (const entry of entries) entry.fate.value = { kind: "asking" };
    try {
      const { results } = await this.wire.call<{ results: { key: { commandId: string }; result: Ack | "unknown" }[] }>(
        "v4/commands/query", { commands: entries.map((e) => ({ sessionId: e.sessionId, commandId: e.id })) }, { timeoutMs: 15_000 });
      for (const { key, result } of results) {
        const entry = entries.find((e) => e.id === key.commandId);
        if (entry && result !== "unknown") this.decide(entry, result);
      }
      return true;
    } catch (error) {
      const e = error as { code?: number | string; data?: ErrorData };
      // A session that is no more answers with an error: then the command itself gets to hear it.
      if (typeof e.code === "number" && ![-32042, -32043, -32044, -32046].includes(e.code)) return true;
      if (this.wire.live.peek()) for (const entry of entries) this.later(entry, e.data?.retryAfterMs ?? 2000);
      return false;
    }
  }

  private save(entry: Entry): void {
    const { id, sessionId, type, payload, at, base, device, sent } = entry;
    const fate = entry.fate.peek();
    const kept = decided(fate) ? fate : undefined;
    try {
      this.store?.setItem(prefix + id, JSON.stringify({ id, sessionId, type, payload, at, base, device, sent, fate: kept }));
    } catch {
      // The store is full or forbidden: the command lives as long as the page does.
    }
  }

  private load(): Entry[] {
    const found: Entry[] = [];
    for (let i = 0; i < (this.store?.length ?? 0); i++) {
      const key = this.store!.key(i);
      if (key?.startsWith(prefix)) {
        const entry = parse(this.store!.getItem(key));
        if (entry) found.push(entry);
      }
    }
    return found.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  }
}

interface ErrorData { retryAfterMs?: number; holder?: { name?: string } }

function parse(text: string | null): Entry | null {
  try {
    const r = JSON.parse(text ?? "") as Partial<Entry> & { fate?: Fate };
    if (typeof r.id !== "string" || typeof r.type !== "string" || typeof r.at !== "number" || typeof r.payload !== "object") return null;
    const fate: Fate = r.fate ?? (r.sent ? { kind: "asking" } : { kind: "unsent" });
    return { id: r.id, sessionId: r.sessionId ?? null, type: r.type, payload: r.payload as Payload, at: r.at, base: r.base, device: r.device,
      sent: r.sent === true, tries: 0, fate: signal(fate) };
  } catch {
    return null;
  }
}
