// Topics of the hub that the page follows: each is a state that frames keep up to date. A topic keeps its cursor over a
// lost connection and goes on from there; whatever does not fit is asked for again.

import { signal } from "@preact/signals";
import { Assembler } from "./assemble";
import { CallError, link } from "./link";
import type { Base, Frame, PhysicalFrame, SubscribeAck } from "./types";

export interface TopicStore {
  snapshot(snapshot: any, before: Base | null): void; // the state as it is now; before: the cursor that is no good any more
  deltas(deltas: any[], frame: Frame): void; // what changed since
  current?(is: boolean): void; // whether the state is what the hub knows
  lost?(error: { code?: number; message?: string } | undefined): void; // it cannot be followed: it does not exist, or not for this device
}

export interface Topic {
  readonly name: string;
  readonly base: Base | null; // the cursor
  resync(force?: boolean): void;
  leave(): void;
}

const NOT_FOUND = -32004;
const AGAIN = [1_000, 3_000, 10_000, 30_000]; // ms; a topic that could not be opened for now

class Followed implements Topic {
  subscriptionId = "";
  left = false;
  private opened = 0; // how often subscribe was called; only the last one counts
  private resyncing = false;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly assembler = { current: new Assembler() };

  constructor(readonly name: string, readonly store: TopicStore, public base: Base | null) {}

  subscribe(): void {
    clearTimeout(this.timer);
    const turn = ++this.opened;
    this.resyncing = false;
    this.assembler.current = new Assembler();
    waiting.add(this);
    tellBehind();
    link.call<SubscribeAck>("v4/conversation/subscribe", { topic: this.name, base: this.base }).then(
      ({ ack }) => {
        if (turn !== this.opened || this.left) return;
        this.subscriptionId = ack.subscriptionId;
        this.failures = 0;
        if (ack.mode === "resume") this.caughtUp(); // what was missed is in the same breath
      },
      (error: CallError) => {
        if (turn !== this.opened || this.left) return;
        this.failed(error);
      },
    );
  }

  private failed(error: CallError): void {
    if (error.code === "offline" || error.code === "lost") return; // opened again at the next greeting
    waiting.delete(this);
    tellBehind();
    this.subscriptionId = "";
    this.store.current?.(false);
    if (error.code === NOT_FOUND || /unknownTopic|not found/i.test(error.message)) return this.store.lost?.(error as { code: number; message: string });
    this.timer = setTimeout(() => up() && !this.left && this.subscribe(), AGAIN[Math.min(this.failures++, AGAIN.length - 1)]);
  }

  private caughtUp(): void {
    if (waiting.delete(this)) tellBehind();
    this.store.current?.(true);
  }

  receive(physical: PhysicalFrame): void {
    if (physical.subscriptionId !== this.subscriptionId) return;
    const frame = this.assembler.current.take(physical);
    if (frame === null) return;
    if (frame === "fault") return this.resync();
    const recovery = physical.deliveryKind === "recovery";
    if (frame.payload.kind === "snapshot") {
      const snapshot = frame.payload.snapshot as { logEpoch: string };
      const before = this.base;
      this.base = { logEpoch: snapshot.logEpoch, seq: frame.toSeq };
      this.store.snapshot(snapshot, before);
      if (before && physical.deliveryKind === "initial") tellCaughtUp(0, true);
    } else {
      if (!this.base) return; // its snapshot is on the way
      if (frame.fromSeq !== this.base.seq) {
        if (frame.toSeq <= this.base.seq && !recovery) return; // known already
        return this.resync(recovery);
      }
      this.base.seq = frame.toSeq;
      this.store.deltas(frame.payload.deltas, frame);
      if (physical.deliveryKind === "initial") tellCaughtUp(frame.toSeq - frame.fromSeq, false);
    }
    if (recovery || frame.payload.kind === "snapshot") this.resyncing = false;
    this.caughtUp();
  }

  // resync asks for what is missing since the cursor, or by force for everything.
  resync(force = false): void {
    if (this.left || !this.subscriptionId || (this.resyncing && !force)) return;
    this.resyncing = true;
    waiting.add(this);
    tellBehind();
    this.store.current?.(false);
    const base = force ? null : this.base;
    link.call("v4/conversation/resync", { topic: this.name, subscriptionId: this.subscriptionId, base, forceSnapshot: force }).catch((error: CallError) => {
      this.resyncing = false;
      if (!this.left && error.code !== "offline" && error.code !== "lost") this.subscribe();
    });
  }

  lost(error: { code?: number; message?: string } | undefined): void {
    this.failed(new CallError(error?.code ?? NOT_FOUND, error?.message ?? ""));
  }

  leave(): void {
    if (this.left) return;
    this.left = true;
    clearTimeout(this.timer);
    if (topics.get(this.name) === this) topics.delete(this.name);
    if (waiting.delete(this)) tellBehind();
    if (this.subscriptionId && up()) {
      link.call("v4/conversation/unsubscribe", { topic: this.name, subscriptionId: this.subscriptionId }).catch(() => {});
    }
  }
}

// caughtUp tells how the last coming back went: how many updates were missed, and whether anything had to come anew.
export const caughtUp = signal<{ at: number; updates: number; reloaded: boolean } | null>(null);

const topics = new Map<string, Followed>();
const waiting = new Set<Followed>();

// followTopic keeps store up to date until the topic is left, from base on if the store has got that far already. A topic
// has one store.
export function followTopic(name: string, store: TopicStore, base: Base | null = null): Topic {
  const topic = new Followed(name, store, base);
  topics.set(name, topic);
  if (up()) topic.subscribe();
  return topic;
}

// up: there is a connection to ask on.
function up(): boolean {
  const { kind } = link.status.peek();
  return kind === "live" || kind === "catchingUp";
}

// tellBehind makes the link say that it catches up, and that it is live again.
function tellBehind(): void {
  if (!up()) return;
  const { kind, since } = link.status.peek();
  if (waiting.size && catching.peek()) link.status.value = { kind: "catchingUp", since, behind: waiting.size };
  else if (kind === "catchingUp" && !waiting.size) {
    catching.value = false;
    link.status.value = { kind: "live", since: Date.now() };
  }
}

// catching: since the greeting not all topics have been up to date. One that is opened later makes nothing else stale.
const catching = signal(false);

function tellCaughtUp(updates: number, reloaded: boolean): void {
  const now = caughtUp.peek();
  if (now) caughtUp.value = { at: Date.now(), updates: now.updates + updates, reloaded: now.reloaded || reloaded };
}

link.on("hub/hello", () => {
  catching.value = topics.size > 0;
  if (topics.size) caughtUp.value = { at: Date.now(), updates: 0, reloaded: false };
  waiting.clear();
  for (const topic of topics.values()) topic.subscribe();
});

link.status.subscribe(() => {
  if (!up()) for (const topic of topics.values()) topic.store.current?.(false);
});

link.on("hub/topicLost", ({ topic, error }) => {
  topics.get(topic)?.lost(error);
});

link.on("v4/conversation/frame", (physical: PhysicalFrame) => topics.get(physical.topic)?.receive(physical));
