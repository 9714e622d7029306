// Being told of the agent's questions while nobody looks.

import { link } from "../wire/link";
import { chosenLanguage } from "./settings";

export type PushState = "on" | "off" | "unsupported" | "install" | "insecure" | "denied";

const apple = () => /iPhone|iPad/.test(navigator.userAgent);
const installed = () => matchMedia("(display-mode: standalone)").matches;

export async function pushState(): Promise<PushState> {
  if (!window.isSecureContext) return "insecure";
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) return apple() && !installed() ? "install" : "unsupported";
  if (Notification.permission === "denied") return "denied";
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ? "on" : "off";
}

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await fetch(path, { method, ...(body !== undefined && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }) });
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.error?.message ?? `HTTP ${response.status}`);
  return answer;
}

function bytes(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
}

export async function pushOn(): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted") return;
  const registration = await navigator.serviceWorker.ready;
  const { publicKey } = await ask("GET", "api/push/key");
  const applicationServerKey = bytes(publicKey);
  let subscription = await registration.pushManager.getSubscription();
  if (subscription && !sameKey(subscription, applicationServerKey)) {
    await subscription.unsubscribe(); // it belongs to another hub, or to an older key of this one
    subscription = null;
  }
  subscription ??= await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  try {
    await tell(subscription);
  } catch (error) {
    await subscription.unsubscribe(); // on here and unknown there would be silence
    throw error;
  }
}

function tell(subscription: PushSubscription): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  return ask("POST", "api/push/subscriptions", { endpoint, keys, language: chosenLanguage.value });
}

// keepPush tells the hub of the subscription again when the page comes: what this device may do may have changed since,
// and so may the hub's key, without which nothing arrives.
export function keepPush(): void {
  const stop = link.hello.subscribe((hello) => {
    if (!hello?.capabilities.push) return;
    queueMicrotask(() => stop());
    void again().catch(() => {}); // it holds as it is, and is tried when the page comes next
  });
}

async function again(): Promise<void> {
  if ((await pushState()) !== "on") return;
  const registration = await navigator.serviceWorker.ready;
  const subscription = await registration.pushManager.getSubscription();
  if (!subscription) return;
  const { publicKey } = await ask("GET", "api/push/key");
  if (sameKey(subscription, bytes(publicKey))) await tell(subscription);
  else await pushOn();
}

function sameKey(subscription: PushSubscription, key: Uint8Array): boolean {
  const has = new Uint8Array(subscription.options.applicationServerKey ?? new ArrayBuffer(0));
  return has.length === key.length && has.every((b, i) => b === key[i]);
}

export async function pushOff(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return;
  await ask("DELETE", "api/push/subscriptions", { endpoint: subscription.endpoint });
  await subscription.unsubscribe();
}
