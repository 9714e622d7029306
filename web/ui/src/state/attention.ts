// What this page's owner looks at, for the hub: whoever looks needs no push, and others see who is there. And the signs
// that a page may have slept, after which the connection has to prove that it lives.

import { effect, signal } from "@preact/signals";
import { link } from "../wire/link";
import { route } from "../ui/shell/router";

const TICK = 5_000; // ms
const SLEPT = 15_000; // ms; a tick that comes this late was held back by sleep

export const visible = signal(!document.hidden);

export function watchAttention(): void {
  const look = () => {
    visible.value = !document.hidden;
    if (visible.value) link.wake();
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", look);
  addEventListener("focus", look);
  effect(() => {
    if (visible.value) navigator.serviceWorker?.controller?.postMessage({ seen: true }); // notifications that are only news can go
  });
  addEventListener("online", () => link.wake());
  addEventListener("offline", () => link.wake()); // it may be another network that went
  document.addEventListener("resume", () => link.wake()); // of a page that was frozen

  let last = Date.now();
  setInterval(() => {
    const slept = Date.now() - last > SLEPT;
    last = Date.now();
    if (slept) link.wake();
  }, TICK);

  effect(() => {
    const at = route.value;
    if (!link.hello.value) return;
    link.call("hub/attention", { visible: visible.value, ...(at.page === "session" && { sessionId: at.sessionId }) }).catch(() => {});
  });
}
