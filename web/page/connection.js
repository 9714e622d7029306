// The connection to the hub: requests and answers, reconnecting with back-off, and knowing when not to.

// What a close code means for reconnecting; the table is in docs/protocol.md. Codes that are not here: reconnect.
const FINAL = {
  1002: "The hub did not understand this page.",
  1007: "The hub did not understand this page.",
  1008: "The hub closed the connection because of a rule this page broke.",
  1009: "A message was too big for the hub.",
  4403: "This device was revoked. Pair it again or use another token.",
};
const EXPIRED = 4401, OVERLOADED = 1013, TOO_SLOW = 4408;

const FIRST_DELAY = 500, MAX_DELAY = 30_000, OVERLOAD_DELAY = 10_000; // ms
const PROBE_EVERY = 30_000, PROBE_LIMIT = 5_000; // ms; a dead socket of a phone that slept looks open

export class Connection {
  // on: {state(text), hello(params), message(message), signIn(reason), stopped(reason)}
  constructor(on) {
    this.on = on;
    this.calls = new Map(); // id -> {resolve, reject}
    this.nextId = 1;
    this.failures = 0;
    this.hint = 0; // ms, from hub/closing
    setInterval(() => this.probe(), PROBE_EVERY);
    document.addEventListener("visibilitychange", () => document.hidden || this.wake());
    addEventListener("online", () => this.wake());
  }

  open() {
    this.close();
    this.on.state("connecting …");
    const url = new URL("ws", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    url.hash = url.search = "";
    const socket = this.socket = new WebSocket(url, "zcode-hub.v1");
    let opened = false;
    socket.onopen = () => { opened = true; };
    socket.onmessage = (e) => socket === this.socket && this.receive(JSON.parse(e.data));
    socket.onclose = (e) => socket === this.socket && this.closed(opened ? e.code : 0);
  }

  // close ends the connection for good, or until open is called again.
  close() {
    clearTimeout(this.timer);
    this.timer = 0;
    const socket = this.socket;
    this.socket = null;
    this.ready = false;
    socket?.close();
    this.failCalls();
  }

  request(method, params = {}) {
    return new Promise((resolve, reject) => {
      if (!this.ready) return reject(new Error("not connected"));
      const id = this.nextId++;
      this.calls.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  // answer replies to a request of the agent; false when there is no connection to do it on.
  answer(id, result) {
    if (this.ready) this.socket.send(JSON.stringify({ id, result }));
    return Boolean(this.ready);
  }

  receive(message) {
    if (message.method === "hub/hello") {
      this.ready = true;
      this.failures = this.hint = 0;
      this.on.state("connected");
      return this.on.hello(message.params);
    }
    if (message.method) {
      if (message.method === "hub/closing") this.hint = message.params.retryAfterMs || 0;
      return this.on.message(message);
    }
    const call = this.calls.get(message.id);
    this.calls.delete(message.id);
    if (message.error) call?.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
    else call?.resolve(message.result);
  }

  async closed(code) {
    this.close();
    if (FINAL[code]) return this.on.stopped(FINAL[code]);
    if (code === EXPIRED) return this.on.signIn("The token has expired. Sign in with a new one.");
    // A handshake that failed tells a page nothing: ask by HTTP whether it is this page that is not wanted.
    const verdict = code ? "retry" : await signedIn();
    if (this.socket) return; // opened again meanwhile
    if (verdict === "no") return this.on.signIn("Sign in to go on.");
    this.retry(code);
  }

  retry(code) {
    let delay = Math.min(MAX_DELAY, FIRST_DELAY * 2 ** this.failures++);
    if (code === OVERLOADED) delay = Math.max(delay, OVERLOAD_DELAY);
    if (code === TOO_SLOW && this.failures === 1) delay = 0;
    delay = this.hint + delay * (0.5 + Math.random() / 2);
    this.on.state(`disconnected, next try in ${Math.ceil(delay / 1000)} s`);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), delay);
  }

  // wake is for a page that was in the background: retry now, or find out whether the connection still lives.
  wake() {
    if (this.timer) this.open();
    else this.probe();
  }

  async probe() {
    const socket = this.socket;
    if (!this.ready || document.hidden) return;
    const late = setTimeout(() => {
      if (socket !== this.socket) return;
      this.close();
      this.retry(0);
    }, PROBE_LIMIT);
    await this.request("hub/ping").catch(() => {});
    clearTimeout(late);
  }

  failCalls() {
    const calls = [...this.calls.values()];
    this.calls.clear();
    for (const call of calls) call.reject(new Error("the connection was lost before the answer came"));
  }
}

// signedIn asks whether the page's cookie is good: "yes", "no" or "unknown" (the hub is away).
export async function signedIn() {
  try {
    const { status } = await fetch("api/tickets", { method: "POST" });
    return status === 200 ? "yes" : status === 401 || status === 403 ? "no" : "unknown";
  } catch {
    return "unknown";
  }
}

// signIn exchanges a token for the page's cookie and throws a sentence if it is not good.
export async function signIn(token) {
  const response = await fetch("api/login", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  if (response.ok) return;
  if (response.status === 401) throw new Error("This token is not valid (any more).");
  const body = await response.json().catch(() => null);
  throw new Error(body?.error?.message || `The hub answered ${response.status}.`);
}

export const signOut = () => fetch("api/logout", { method: "POST" });
