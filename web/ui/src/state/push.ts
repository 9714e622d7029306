// Being told of the agent's questions while nobody looks.

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
  const { endpoint, keys } = subscription.toJSON();
  try {
    await ask("POST", "api/push/subscriptions", { endpoint, keys, language: chosenLanguage.value });
  } catch (error) {
    await subscription.unsubscribe(); // on here and unknown there would be silence
    throw error;
  }
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
