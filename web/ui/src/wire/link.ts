// The one connection to the hub: its state, calls and their answers, notifications, and the agent's questions. It comes
// back by itself, finds out when a socket that looks open is dead, and knows when coming back is no use.

import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { renew, signedIn, ticketFor } from "./credential";
import { delay, EXPIRED, finalReason, type EndReason } from "./retry";
import type { Hello } from "./types";

export interface LinkStatus {
  kind: "connecting" | "live" | "catchingUp" | "cut" | "ended";
  since: number; // Date.now() of the change; of the loss, while it lasts
  retryAt?: number;
  behind?: number; // topics that are not caught up yet
  code?: number; // close code
  reason?: EndReason;
}

export class CallError extends Error {
  constructor(
    readonly code: number | "offline" | "lost" | "timeout", // lost, timeout: it may have had an effect
    message: string,
    readonly data?: { reason?: string; retryable?: boolean; retryAfterMs?: number },
  ) {
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
  now(): number; // the hub's clock
  rtt: Signal<number | null>; // ms there and back, smoothed
  connect(): void;
  end(reason: EndReason): void;
  retryNow(): void;
  wake(): void; // the page may have slept: find out whether the connection lives
}

interface Call {
  resolve(value: any): void;
  reject(error: CallError): void;
  timer: ReturnType<typeof setTimeout>;
}

const FRAME = "v4/conversation/frame";

const CALL_LIMIT = 60_000; // ms; the hub gives up after 180 s, a person before
const KEEP_ALIVE = 25_000; // ms; tunnels cut what is silent for 100 s, some sooner
const PROBE = 2_000; // ms; on return: longer than a phone's network needs, shorter than patience
const PROBE_QUIET = 8_000; // ms; in between nobody waits, and a network that hiccups is not a dead one
const PROBE_LONGEST = 20_000; // ms; however slow the way was so far
const OPEN_LIMIT = 15_000; // ms; a handshake through a dead tunnel hangs for minutes
const RENEW_PART = 0.7; // of a token's life, then it is renewed: two more tries fit into the rest
const RENEW_RETRY = 20_000; // ms
const LONGEST_TIMER = 2 ** 31 - 1; // ms; setTimeout knows no more

// wanted is how often frames are applied, in ms; 0 is with each picture. state/bandwidth.ts decides.
export const wanted = { every: 0 };

export function createLink(): Link & { dispose(): void } {
  const status = signal<LinkStatus>({ kind: "connecting", since: Date.now() });
  const hello = signal<Hello | null>(null);
  const rtt = signal<number | null>(null);

  const calls = new Map<number | string, Call>();
  const listeners = new Map<string, Set<(params: any) => void>>();
  const askers = new Map<string, Set<(id: number | string, params: any) => void>>();

  let socket: WebSocket | null = null;
  let ready = false; // hello came, and the socket has not closed since
  let nextId = 1;
  let failures = 0;
  let hint = 0; // ms, from hub/closing
  let skew = 0; // ms, the hub's clock less this one
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let openTimer: ReturnType<typeof setTimeout> | undefined;
  let renewTimer: ReturnType<typeof setTimeout> | undefined;
  let probing = false;
  let heard = 0; // performance.now() of the last message

  function connect(): void {
    drop();
    if (status.value.kind !== "cut") status.value = { kind: "connecting", since: Date.now() };
    const url = new URL("ws", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    url.hash = "";
    url.search = "";
    const mine = (socket = new WebSocket(url, "zcode-hub.v1"));
    const asked = performance.now();
    let opened = false;
    mine.onopen = () => (opened = true);
    mine.onmessage = (e) => {
      if (mine !== socket) return;
      heard = performance.now();
      if (!ready) measure((heard - asked) / 3); // three ways there and back: TCP, TLS or HTTP, and the greeting
      receive(e.data);
    };
    mine.onclose = (e) => mine === socket && void closed(opened ? e.code : 0);
    openTimer = setTimeout(() => mine === socket && !ready && void closed(0), OPEN_LIMIT);
  }

  // drop forgets the socket without waiting for its close: that of a dead one takes minutes.
  function drop(): void {
    clearTimeout(retryTimer);
    clearTimeout(openTimer);
    clearTimeout(renewTimer);
    retryTimer = undefined;
    frames = [];
    const old = socket;
    socket = null;
    ready = false;
    probing = false;
    old?.close();
    const lost = [...calls.values()];
    calls.clear();
    for (const call of lost) {
      clearTimeout(call.timer);
      call.reject(new CallError("lost", "the connection was lost before the answer came"));
    }
  }

  async function closed(code: number): Promise<void> {
    const since = status.value.kind === "cut" ? status.value.since : Date.now();
    drop();
    const final = finalReason(code);
    if (final) return end(final, code);
    status.value = { kind: "cut", since, code };
    // A handshake that failed tells a page nothing: ask by HTTP whether it is this browser that is not wanted. A paired
    // one whose token ran out, perhaps while it slept, renews itself.
    let verdict = code === EXPIRED ? "no" : code ? "unknown" : await signedIn();
    const spent = verdict === "no";
    if (spent) verdict = await renew();
    if (socket || status.value.kind !== "cut") return; // connected again meanwhile, or ended
    if (verdict === "no") return end(code === EXPIRED ? "expired" : "signIn", code);
    if (verdict === "yes" && spent) return connect();
    retry(code, since);
  }

  function retry(code: number, since: number): void {
    const ms = delay(code, failures++, hint);
    hint = 0;
    status.value = { kind: "cut", since, code, retryAt: Date.now() + ms };
    retryTimer = setTimeout(connect, ms);
  }

  function end(reason: EndReason, code?: number): void {
    drop();
    hello.value = null;
    status.value = { kind: "ended", since: Date.now(), reason, ...(code && { code }) };
  }

  function receive(data: unknown): void {
    if (typeof data !== "string") return;
    let message: any;
    try {
      message = JSON.parse(data);
    } catch {
      return; // the hub sends none; half a message is worth nothing
    }
    if (message.method === FRAME) return later(message.params);
    deliver(); // nothing overtakes the frames that came before it
    if (message.method === undefined) return answered(message);
    if (message.method === "hub/hello") greeted(message.params);
    if (message.method === "hub/closing") hint = Number(message.params?.retryAfterMs) || 0;
    if (message.id !== undefined) batch(() => askers.get(message.method)?.forEach((f) => f(message.id, message.params ?? {})));
    else batch(() => listeners.get(message.method)?.forEach((f) => f(message.params ?? {})));
  }

  // Frames are applied once for each picture that the screen shows: more often is work that nobody sees.
  let frames: unknown[] = [], picture = 0;
  let slow: ReturnType<typeof setTimeout> | undefined;

  function later(frame: unknown): void {
    frames.push(frame);
    if (document.hidden) return deliver(); // a hidden page is not drawn
    if (wanted.every) slow ??= setTimeout(deliver, wanted.every);
    else picture ||= requestAnimationFrame(deliver);
  }

  function deliver(): void {
    if (picture) cancelAnimationFrame(picture);
    clearTimeout(slow);
    picture = 0;
    slow = undefined;
    if (!frames.length) return;
    const due = frames;
    frames = [];
    batch(() => due.forEach((frame) => listeners.get(FRAME)?.forEach((f) => f(frame))));
  }

  document.addEventListener("visibilitychange", deliver);

  function greeted(params: Hello): void {
    clearTimeout(openTimer);
    ready = true;
    failures = 0;
    skew = params.serverTime - Date.now();
    batch(() => {
      hello.value = params;
      status.value = { kind: "live", since: Date.now() }; // topics.ts says catchingUp if there is something to catch up
    });
    renewBefore(params.principal.expiresAt);
    void ping();
  }

  function answered(message: { id: number | string; result?: unknown; error?: { code: number; message: string; data?: any } }): void {
    const call = calls.get(message.id);
    if (!call) return;
    calls.delete(message.id);
    clearTimeout(call.timer);
    if (message.error) call.reject(new CallError(message.error.code, message.error.message, message.error.data));
    else call.resolve(message.result);
  }

  function call<T>(method: string, params: unknown = {}, o: { timeoutMs?: number } = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!ready || !socket) return reject(new CallError("offline", "not connected"));
      const id = nextId++;
      const timer = setTimeout(() => {
        calls.delete(id);
        reject(new CallError("timeout", "no answer came in time"));
      }, o.timeoutMs ?? CALL_LIMIT);
      calls.set(id, { resolve, reject, timer });
      socket.send(JSON.stringify({ id, method, params }));
    });
  }

  function reply(id: number | string, result: unknown): boolean {
    if (!ready || !socket) return false;
    socket.send(JSON.stringify({ id, result }));
    return true;
  }

  // ---- is it alive?

  function measure(ms: number): void {
    rtt.value = rtt.value === null ? ms : rtt.value * 0.7 + ms * 0.3;
  }

  async function ping(): Promise<void> {
    const asked = performance.now();
    const { serverTime } = await call<{ serverTime: number }>("hub/ping").catch(() => ({ serverTime: 0 }));
    if (!serverTime) return;
    const took = performance.now() - asked;
    measure(took);
    skew = serverTime + took / 2 - Date.now();
  }

  // probe finds out whether the socket lives; anything that comes before the deadline is a sign of life.
  async function probe(deadline: number): Promise<void> {
    if (!ready || probing) return;
    probing = true;
    const mine = socket, asked = performance.now();
    const patience = Math.min(PROBE_LONGEST, Math.max(deadline, 3 * (rtt.value ?? 0)));
    const late = setTimeout(() => {
      if (mine !== socket) return;
      probing = false;
      if (heard > asked) return void probe(deadline); // other things came: the way is slow, or it died after them
      const since = Date.now();
      drop();
      status.value = { kind: "cut", since, retryAt: since };
      connect();
    }, patience);
    await ping();
    clearTimeout(late);
    if (mine === socket) probing = false;
  }

  function wake(): void {
    if (status.value.kind === "ended") return;
    if (retryTimer !== undefined) connect();
    else void probe(PROBE);
  }

  const keepAlive = setInterval(() => void probe(PROBE_QUIET), KEEP_ALIVE);

  // ---- the token, which ends before the work does

  // renewBefore renews a paired browser's token while the connection is open. The hub's clock is the one that counts.
  function renewBefore(expiresAt: string | undefined): void {
    clearTimeout(renewTimer);
    if (!expiresAt) return;
    const left = new Date(expiresAt).getTime() - Date.now() - skew;
    renewTimer = setTimeout(() => void renewNow(), Math.min(LONGEST_TIMER, Math.max(0, left * RENEW_PART)));
  }

  async function renewNow(): Promise<void> {
    const mine = socket;
    const verdict = await renew();
    if (mine !== socket || !ready || verdict === "no") return; // "no": not a paired browser, its token just ends
    try {
      if (verdict !== "yes") throw new Error("the hub is away");
      const { expiresAt } = await call<{ expiresAt: string }>("hub/refreshToken", { token: await ticketFor("hub/refreshToken") });
      renewBefore(expiresAt);
    } catch {
      if (mine === socket) renewTimer = setTimeout(() => void renewNow(), RENEW_RETRY);
    }
  }

  function add<F>(to: Map<string, Set<F>>, method: string, f: F): () => void {
    const set = to.get(method) ?? new Set<F>();
    to.set(method, set.add(f));
    return () => void set.delete(f);
  }

  return {
    status, hello, rtt, call, reply, connect, wake,
    on: (method, f) => add(listeners, method, f),
    onRequest: (method, f) => add(askers, method, f),
    now: () => Date.now() + skew,
    end: (reason) => end(reason),
    retryNow: () => status.value.kind === "cut" && connect(),
    dispose: () => {
      clearInterval(keepAlive);
      document.removeEventListener("visibilitychange", deliver);
      drop();
    },
  };
}

export const link: Link = createLink();

// live: what is shown is what the hub knows now. While it is false everything is stale, and timers stop.
export const live: ReadonlySignal<boolean> = computed(() => link.status.value.kind === "live");
