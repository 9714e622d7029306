// The connection to the hub: requests and answers, reconnecting with back-off, and knowing when not to.

// What a close code means for reconnecting; the table is in docs/protocol.md. Codes that are not here: reconnect.
const FINAL = {
  1002: "The hub did not understand this page.",
  1007: "The hub did not understand this page.",
  1008: "The hub closed the connection because of a rule this page broke.",
  1009: "A message was too big for the hub.",
  4403: "This device was revoked. Pair it again.",
};
const RENEW_PART = 0.7, RENEW_RETRY = 20_000, LONGEST_TIMER = 2 ** 31 - 1; // ms; when a token is renewed: with a third of its time left
const EXPIRED = 4401, OVERLOADED = 1013, TOO_SLOW = 4408, REVOKED = 4403;

const FIRST_DELAY = 500, MAX_DELAY = 30_000, OVERLOAD_DELAY = 10_000; // ms
const PROBE_EVERY = 30_000, PROBE_LIMIT = 5_000; // ms; a dead socket of a phone that slept looks open

export class Connection {
  // on: {state(text), hello(params), message(message), signIn(reason), stopped(reason), revoked(reason)}
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
    clearTimeout(this.renewal);
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
      this.renewBefore(message.params.principal?.expiresAt, message.params.serverTime);
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
    if (code === REVOKED) return this.on.revoked(FINAL[code]);
    if (FINAL[code]) return this.on.stopped(FINAL[code]);
    // A handshake that failed tells a page nothing: ask by HTTP whether it is this page that is not wanted. A paired page
    // whose token ran out, perhaps while it slept, renews itself.
    let verdict = code === EXPIRED ? "no" : code ? "retry" : await signedIn();
    if (verdict === "no") verdict = await renew();
    if (this.socket) return; // opened again meanwhile
    if (verdict === "no") return this.on.signIn(code === EXPIRED ? "The token has expired. Sign in with a new one." : "Sign in to go on.");
    if (verdict === "yes" && code === EXPIRED) return this.open();
    this.retry(code);
  }

  // renewBefore renews a paired page's token while the connection is open, before it ends. The hub's clock is the one
  // that counts; how long is left is measured against it.
  renewBefore(expiresAt, serverTime) {
    clearTimeout(this.renewal);
    if (!expiresAt) return;
    if (serverTime) this.skew = serverTime - Date.now();
    const left = new Date(expiresAt) - Date.now() - (this.skew || 0);
    this.renewal = setTimeout(() => this.renewNow(), Math.min(LONGEST_TIMER, Math.max(0, left * RENEW_PART)));
  }

  async renewNow() {
    const socket = this.socket;
    const verdict = await renew();
    if (socket !== this.socket || !this.ready || verdict === "no") return; // "no": not a paired page, its token just ends
    try {
      if (verdict !== "yes") throw new Error("the hub is away");
      const { expiresAt } = await this.request("hub/refreshToken", { token: await ticketFor("hub/refreshToken") });
      this.renewBefore(expiresAt);
    } catch {
      if (socket === this.socket) this.renewal = setTimeout(() => this.renewNow(), RENEW_RETRY);
    }
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

async function post(path, body) {
  return fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

async function ticketFor(path) {
  const response = await post("api/tickets", { path });
  if (!response.ok) throw new Error(`The hub answered ${response.status}.`);
  return (await response.json()).ticket;
}

// pair makes this browser a device of the hub and throws a sentence if the code is not good.
export async function pair(code) {
  const response = await post("api/pair", { code });
  if (response.ok) return;
  if (response.status === 401) throw new Error("This pairing link was used already, or is older than five minutes. Ask for a new one.");
  const body = await response.json().catch(() => null);
  throw new Error(body?.error?.message || `The hub answered ${response.status}.`);
}

// renew gets a paired page a new token in its cookie: "yes", "no" (not paired, or not any more) or "unknown". The hub
// takes each refresh secret once, and all windows share one: they renew one after another where the browser can, and
// name the attempt, so that one whose answer got lost can be repeated.
export async function renew() {
  return navigator.locks ? navigator.locks.request("hub-renew", renewAlone) : renewAlone();
}

const RENEWED = "hub-renewed", ATTEMPT = "hub-attempt", FRESH = 30_000; // ms

async function renewAlone() {
  if (Date.now() - Number(localStorage.getItem(RENEWED)) < FRESH && await signedIn() === "yes") return "yes"; // by another window
  let attempt = localStorage.getItem(ATTEMPT);
  if (!attempt) {
    attempt = [...crypto.getRandomValues(new Uint32Array(4))].join("-");
    localStorage.setItem(ATTEMPT, attempt);
  }
  try {
    const { status } = await post("api/token", { attempt });
    if (status === 200) localStorage.setItem(RENEWED, Date.now());
    else if (status !== 401 && status !== 403) return "unknown";
    localStorage.removeItem(ATTEMPT);
    return status === 200 ? "yes" : "no";
  } catch {
    return "unknown"; // the attempt stays: the hub may have taken it
  }
}

export const signOut = () => fetch("api/logout", { method: "POST" });
