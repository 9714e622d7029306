// Steering one session: what its composer can do beside sending prompts, and what became of it.

import { effect, signal, type Signal } from "@preact/signals";
import type { Head, QueueItem } from "../wire/types";
import { outbox, send, settled, type Command, type Fate, type Payload } from "./commands";
import type { Conversation } from "./conversation";

// A word on the last command that did not simply work.
export interface Note {
  command: Command;
  fate: Fate;
}

// Settings that are asked for and not yet in force.
export interface Wanted {
  mode?: string;
  provider?: string;
  model?: string;
  thought?: string;
  followupMode?: "queue" | "guide";
}

// An accepted setting shows in the next update; if none comes, what is shown is what is known.
const settingShown = 2000; // ms

export class Steering {
  readonly note: Signal<Note | null> = signal(null);
  readonly stopping: Signal<Command | null> = signal(null);
  readonly wanted: Signal<Wanted> = signal({});

  constructor(readonly conversation: Conversation) {}

  private get head(): Head | null {
    return this.conversation.head.peek();
  }

  // do sends a command; about is what it is about, so that it may be sent anew while that is the same.
  private do(type: string, payload: Payload, about: (head: Head) => unknown): Command {
    const seen = this.head && JSON.stringify(about(this.head));
    const command = send(this.conversation.id, type, payload, {
      still: () => seen !== null && this.head !== null && JSON.stringify(about(this.head)) === seen,
    });
    this.watch(command);
    return command;
  }

  // watch shows a command's fate unless all is well.
  private watch(command: Command): void {
    const stop: () => void = command.fate.subscribe((fate) => {
      const mine = this.note.peek()?.command === command;
      if (fate.kind === "accepted" || fate.kind === "queued" || fate.kind === "cancelled" || (fate.kind === "noop" && fate.code === "config.unchanged")) {
        if (mine) this.note.value = null;
      } else if (fate.kind !== "sending") this.note.value = { command, fate };
      if (settled(fate)) queueMicrotask(() => stop());
    });
  }

  // again repeats what the note is about, on what is there now.
  again(): void {
    const command = this.note.peek()?.command;
    if (!command) return;
    this.note.value = null;
    this.watch(outbox.retry(command));
  }

  dismiss(): void {
    const note = this.note.peek();
    if (note) outbox.cancel(note.command);
    this.note.value = null;
  }

  stop(): void {
    const running = this.head?.control.activeWorks.find((w) => w.foregroundExecutionId);
    const command = this.do("stop", running ? { expectedForegroundExecutionId: running.foregroundExecutionId } : {}, () => null);
    this.stopping.value = command;
    void outbox.outcome(command).then(() => {
      if (this.stopping.peek() === command) this.stopping.value = null;
    });
  }

  setMode(mode: string): void {
    this.want({ mode }, this.do("switchCollaborationMode", { mode }, (h) => h.config.mode));
  }

  setModel(provider: string, model: string, thought: string): void {
    this.want({ provider, model, thought }, this.do("switchModelConfig", { provider, model, thought }, (h) => [h.config.provider, h.config.model, h.config.thought]));
  }

  setFollowup(mode: "queue" | "guide"): void {
    this.want({ followupMode: mode }, this.do("setFollowupMode", { mode }, (h) => h.config.followupMode));
  }

  compact(): Command {
    return this.do("compact", {}, () => null);
  }

  setAutoDrain(autoDrain: boolean): void {
    this.do("setAutoDrain", { autoDrain }, (h) => h.queue.autoDrain);
  }

  editItem(item: QueueItem, newText: string): Command {
    return this.do("editQueueItem", { queueItemId: item.queueItemId, newText }, textOf(item));
  }

  deleteItem(item: QueueItem): void {
    this.do("deleteQueueItem", { queueItemId: item.queueItemId }, textOf(item));
  }

  sendItemNow(item: QueueItem): void {
    this.do("sendQueuedNow", { queueItemId: item.queueItemId }, textOf(item));
  }

  // moveItem moves an item by so many places.
  moveItem(item: QueueItem, by: -1 | 1): void {
    const items = this.head?.queue.items ?? [];
    const at = items.findIndex((i) => i.queueItemId === item.queueItemId);
    const to = at + by;
    if (at < 0 || to < 0 || to >= items.length) return;
    const before = items[by < 0 ? to : to + 1]?.queueItemId ?? null;
    this.do("reorderQueueItem", { queueItemId: item.queueItemId, beforeQueueItemId: before }, (h) => h.queue.items.map((i) => i.queueItemId));
  }

  pauseGoal(): void {
    this.do("pauseGoal", {}, (h) => [h.goal?.targetId, h.goal?.status]);
  }

  resumeGoal(): void {
    this.do("resumeGoal", {}, (h) => [h.goal?.targetId, h.goal?.status]);
  }

  // want shows a setting as asked for until it is in force or refused.
  private want(what: Wanted, command: Command): void {
    this.wanted.value = { ...this.wanted.peek(), ...what };
    const keys = Object.keys(what) as (keyof Wanted)[];
    const forget = () => {
      stop();
      clearTimeout(timer);
      const rest = { ...this.wanted.peek() };
      for (const key of keys) if (rest[key] === what[key]) delete rest[key];
      this.wanted.value = rest;
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = effect(() => {
      const config = this.conversation.head.value?.config;
      if (config && keys.every((key) => config[key] === what[key])) queueMicrotask(forget);
    });
    void outbox.outcome(command).then((fate) => {
      if (fate.kind === "accepted") timer = setTimeout(forget, settingShown);
      else forget();
    });
  }
}

const textOf = (item: QueueItem) => (h: Head) => h.queue.items.find((i) => i.queueItemId === item.queueItemId)?.text;
