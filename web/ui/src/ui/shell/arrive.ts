// How a person gets in: by a pairing link, a token, or the cookie of an earlier time.

import { signal } from "@preact/signals";
import { applySettings } from "../../state/settings";
import { watchAttention } from "../../state/attention";
import { keepPush, pushOff } from "../../state/push";
import { pair, Refused, signIn, signOut } from "../../wire/credential";
import { link } from "../../wire/link";
import { watchBandwidth } from "../../state/bandwidth";
import { go } from "./router";

export type Entry =
  | { kind: "in" } // there is, or may be, a credential: the link finds out
  | { kind: "name"; code: string } // a pairing link was opened: who is this?
  | { kind: "signIn" };

export const entry = signal<Entry>({ kind: "in" });
export const refusal = signal<Refused | null>(null); // why the last try to get in failed
export const entering = signal(false);

// brought takes a credential out of a fragment such as #pair=CODE or #token=TOKEN.
function brought(hash: string): { code?: string; token?: string } {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const code = values.get("pair"), token = values.get("token");
  return code ? { code } : token ? { token } : {};
}

// takeFragment uses what a link brought; false if that is nothing. It leaves the address bar before anything can fail.
function takeFragment(): boolean {
  const { code, token } = brought(location.hash);
  if (!code && !token) return false;
  history.replaceState(null, "", location.pathname + location.search);
  if (code) entry.value = { kind: "name", code };
  else void enter(() => signIn(token!));
  return true;
}

async function enter(how: () => Promise<void>): Promise<void> {
  if (entering.value) return;
  entering.value = true;
  refusal.value = null;
  try {
    await how();
    entry.value = { kind: "in" };
    link.connect();
  } catch (error) {
    refusal.value = error instanceof Refused ? error : new Refused("other", String(error));
    // A link that was spent is no use any more; one that the hub could not be asked about is.
    if (refusal.value.why !== "away" && refusal.value.why !== "tooOften") entry.value = { kind: "signIn" };
  } finally {
    entering.value = false;
  }
}

export const pairAs = (code: string, name: string) => enter(() => pair(code, name, deviceGuess()));

// signInWith takes what a person has: a token, or a whole link.
export function signInWith(typed: string): void {
  const { code, token } = brought(typed.includes("#") ? typed.slice(typed.indexOf("#")) : "");
  if (code) {
    refusal.value = null;
    entry.value = { kind: "name", code };
  } else void enter(() => signIn(token ?? typed));
}

// leave signs out. The page begins anew: nothing of what was shown stays for whoever comes next.
export async function leave(): Promise<void> {
  await pushOff().catch(() => {}); // a device that only loses its cookie would still be told, here
  link.end("signedOut");
  await signOut();
  location.replace(location.pathname);
}

export async function start(): Promise<void> {
  const came = takeFragment();
  if (!came) link.connect();
  addEventListener("hashchange", takeFragment);
  link.status.subscribe(({ kind, reason }) => {
    if (kind === "ended" && (reason === "revoked" || reason === "expired" || reason === "signIn")) entry.value = { kind: "signIn" };
  });
  watchAttention();
  watchBandwidth();
  keepPush();
  await applySettings();
  watchWorker();
}

// watchWorker installs the worker, once the page itself is there, and goes where a notification points.
function watchWorker(): void {
  const worker = navigator.serviceWorker;
  if (!worker) return; // the address is not a safe one
  const install = () => void worker.register("sw.js").catch(() => {});
  if (document.readyState === "complete") install();
  else addEventListener("load", install);
  worker.addEventListener("message", ({ data }) => typeof data?.go === "string" && go(data.go));
}

// deviceGuess is what this device might be called.
export function deviceGuess(): string {
  const agent = navigator.userAgent;
  const kind = [["iPhone", /iPhone/], ["iPad", /iPad/], ["Android", /Android/], ["Mac", /Macintosh/], ["Windows", /Windows/], ["Linux", /Linux/]] as const;
  const browser = [["Edge", /Edg\//], ["Firefox", /Firefox\//], ["Chrome", /Chrome\//], ["Safari", /Safari\//]] as const;
  return [kind, browser].map((list) => list.find(([, pattern]) => pattern.test(agent))?.[0]).filter(Boolean).join(" ");
}
