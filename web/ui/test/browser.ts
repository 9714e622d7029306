// As much of a browser as the page's wire and state need, and a hub at the other end of its sockets.

import { vi } from "vitest";

const listeners = new Map<string, Set<(e: unknown) => void>>();
const target = {
  addEventListener: (type: string, f: (e: unknown) => void) => void listeners.set(type, (listeners.get(type) ?? new Set()).add(f)),
  removeEventListener: (type: string, f: (e: unknown) => void) => void listeners.get(type)?.delete(f),
};

// happens tells the page that something happened to it, such as "visibilitychange".
export function happens(type: string): void {
  listeners.get(type)?.forEach((f) => f({ type }));
}

export const page = { ...target, hidden: false, readyState: "complete", documentElement: { dataset: {} as Record<string, string>, style: { setProperty() {} }, lang: "" }, querySelector: () => null, title: "" };

class Store {
  private values = new Map<string, string>();
  getItem = (key: string) => this.values.get(key) ?? null;
  setItem = (key: string, value: string) => void this.values.set(key, String(value));
  removeItem = (key: string) => void this.values.delete(key);
  clear = () => this.values.clear();
  key = (n: number) => [...this.values.keys()][n] ?? null;
  get length() {
    return this.values.size;
  }
}

// A Socket is a WebSocket as the page sees it. What the page sends is in sent; the hub's side is in the other methods.
export class Socket {
  static all: Socket[] = [];
  static get last(): Socket {
    return Socket.all.at(-1)!;
  }
  static CONNECTING = 0;
  static OPEN = 1;
  readyState = 0;
  sent: any[] = [];
  closedByPage = false;
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: string }) => void) | null = null;
  onclose: ((e: { code: number }) => void) | null = null;
  answers: Record<string, (params: any) => unknown> = { "hub/ping": () => ({ serverTime: Date.now() }) };

  constructor(readonly url: string | URL, readonly protocol?: string) {
    Socket.all.push(this);
  }
  send(text: string): void {
    const message = JSON.parse(text);
    this.sent.push(message);
    const answer = this.answers[message.method];
    if (!answer) return;
    queueMicrotask(() => {
      try {
        this.says({ id: message.id, result: answer(message.params) });
      } catch (error) {
        this.says({ id: message.id, error });
      }
    });
  }
  close(): void {
    this.closedByPage = true;
  }

  // ---- the hub's side
  opens(hello: object = {}): this {
    this.readyState = 1;
    this.onopen?.();
    this.says({ method: "hub/hello", params: { ...greeting, serverTime: Date.now(), ...hello } });
    return this;
  }
  says(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  ends(code: number): void {
    this.onclose?.({ code });
  }
  calls(method: string): any[] {
    return this.sent.filter((m) => m.method === method);
  }
}

export const greeting = {
  protocolVersion: 1, hubVersion: "1", instance: { id: "i", name: "desk" }, connectionId: "c1", epoch: "e1", clientMode: "web-remote-replayable",
  deliveryProfile: "replayable", principal: { name: "phone", device: "d1", rights: ["view", "answer", "control"] },
  appServer: { state: "ready", generation: 1 }, limits: { maxMessageBytes: 1 << 25 }, capabilities: {},
};

// fetched is what the page asks the hub for by HTTP, and what it is answered: a status, or null for no network.
export const http = { asked: [] as string[], answer: (_path: string): { status: number; body?: unknown } | null => ({ status: 200, body: {} }) };

// A test that asks for a document of its own (@vitest-environment) has a browser already.
const stub = (name: string, value: unknown) => void (typeof HTMLElement === "undefined" && vi.stubGlobal(name, value));
stub("document", page);
stub("window", globalThis);
stub("location", { href: "http://hub.test/", hash: "", search: "", pathname: "/", origin: "http://hub.test" });
stub("history", { state: null, replaceState() {} });
stub("addEventListener", target.addEventListener);
stub("removeEventListener", target.removeEventListener);
stub("localStorage", new Store());
stub("sessionStorage", new Store());
stub("navigator", { language: "en", onLine: true, userAgent: "test" });
stub("WebSocket", Socket);
stub("requestAnimationFrame", (f: () => void) => setTimeout(f, 16));
stub("cancelAnimationFrame", (n: number) => clearTimeout(n));
stub("fetch", async (path: string) => {
  http.asked.push(path);
  const answer = http.answer(path);
  if (!answer) throw new TypeError("no network");
  return { ok: answer.status < 400, status: answer.status, json: async () => answer.body ?? {} };
});

// fresh forgets everything of an earlier test, also what modules keep.
export function fresh(): void {
  vi.resetModules();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] });
  Socket.all = [];
  listeners.clear();
  page.hidden = false;
  localStorage.clear();
  http.asked = [];
  http.answer = () => ({ status: 200, body: {} });
}
