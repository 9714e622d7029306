// The one connection to the hub: its state, calls and their answers, notifications, and the agent's questions.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Hello } from "./types";

export interface LinkStatus {
  kind: "connecting" | "live" | "catchingUp" | "cut" | "ended";
  since: number; // Date.now() of the change
  retryAt?: number;
  behind?: number; // topics that are not caught up yet
  code?: number; // close code
  reason?: string;
}

export class CallError extends Error {
  constructor(readonly code: number | "offline" | "lost" | "timeout", message: string, readonly data?: { reason?: string; retryable?: boolean; retryAfterMs?: number }) {
    super(message);
    this.name = "CallError";
  }
}

export interface Link {
  status: Signal<LinkStatus>;
  hello: Signal<Hello | null>;
  call<T = unknown>(method: string, params?: unknown, o?: { timeoutMs?: number }): Promise<T>;
  on(method: string, f: (params: any) => void): () => void;
  onRequest(method: string, f: (id: number | string, params: any) => void): () => void;
  reply(id: number | string, result: unknown): boolean;
  now(): number;
}

const status = signal<LinkStatus>({ kind: "connecting", since: Date.now() });
const hello = signal<Hello | null>(null);

export const link: Link = {
  status,
  hello,
  call: () => Promise.reject(new CallError("offline", "not connected")),
  on: () => () => {},
  onRequest: () => () => {},
  reply: () => false,
  now: () => Date.now(),
};

// live: what is shown is what the hub knows now. While it is false everything is stale, and timers stop.
export const live: ReadonlySignal<boolean> = computed(() => status.value.kind === "live");
