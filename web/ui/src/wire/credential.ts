// How this browser is let in: a cookie that it cannot read, made by a pairing code or a token, and renewed by a second one.

const RENEWED = "hub.renewed", ATTEMPT = "hub.attempt"; // localStorage: shared by all windows of this browser
const FRESH = 30_000; // ms; a token that another window renewed this recently is as good as one's own

export type Verdict = "yes" | "no" | "unknown"; // unknown: the hub is away

// Refused is what the hub said no to, in a word that the page has a sentence for, or in the hub's own words.
export class Refused extends Error {
  constructor(readonly why: "usedLink" | "badToken" | "tooOften" | "other" | "away", message = why as string) {
    super(message);
    this.name = "Refused";
  }
}

async function post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return fetch(path, { method: "POST", headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

async function refused(response: Response, unauthorized: "usedLink" | "badToken"): Promise<Refused> {
  if (response.status === 401) return new Refused(unauthorized);
  if (response.status === 429) return new Refused("tooOften");
  const body = await response.json().catch(() => null);
  return new Refused("other", body?.error?.message ?? `HTTP ${response.status}`);
}

async function enter(response: Promise<Response>, unauthorized: "usedLink" | "badToken"): Promise<void> {
  const got = await response.catch(() => {
    throw new Refused("away");
  });
  if (!got.ok) throw await refused(got, unauthorized);
}

// pair makes this browser a device of the hub, called name, or else as the code was made for, or else otherwise.
export function pair(code: string, name: string, otherwise: string): Promise<void> {
  return enter(post("api/pair", { code, ...(name && { name }), ...(otherwise && { otherwise }) }), "usedLink");
}

// signIn trades a token for the page's cookie.
export function signIn(token: string): Promise<void> {
  return enter(post("api/login", undefined, { Authorization: `Bearer ${token}` }), "badToken");
}

export async function signOut(): Promise<void> {
  await post("api/logout").catch(() => {});
}

// signedIn asks whether the cookie is good: a handshake that failed tells a page nothing.
export async function signedIn(): Promise<Verdict> {
  try {
    const { status } = await post("api/tickets");
    return status === 200 ? "yes" : status === 401 || status === 403 ? "no" : "unknown";
  } catch {
    return "unknown";
  }
}

export async function ticketFor(path: string): Promise<string> {
  const response = await post("api/tickets", { path });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return (await response.json()).ticket;
}

// renew gets a paired browser a new token: "no" if it is not paired, or not any more. The hub takes each refresh secret
// once, and all windows share one: they renew one after another where the browser can, and name the attempt, so that
// one whose answer got lost can be repeated.
export async function renew(): Promise<Verdict> {
  return navigator.locks ? navigator.locks.request("hub-renew", renewAlone) : renewAlone();
}

async function renewAlone(): Promise<Verdict> {
  if (Date.now() - Number(localStorage.getItem(RENEWED)) < FRESH && (await signedIn()) === "yes") return "yes";
  let attempt = localStorage.getItem(ATTEMPT);
  if (!attempt) {
    attempt = [...crypto.getRandomValues(new Uint32Array(4))].join("-");
    localStorage.setItem(ATTEMPT, attempt);
  }
  try {
    const { status } = await post("api/token", { attempt });
    if (status === 200) localStorage.setItem(RENEWED, String(Date.now()));
    else if (status !== 401 && status !== 403) return "unknown";
    localStorage.removeItem(ATTEMPT);
    return status === 200 ? "yes" : "no";
  } catch {
    return "unknown"; // the attempt stays: the hub may have taken it
  }
}
