// What the shell shows of the connection, the hub and the app-server.

import { computed, signal } from "@preact/signals";
import { link } from "../wire/link";
import type { AppServer, Right } from "../wire/types";

export const rights = computed<Right[]>(() => lastHello.value?.principal.rights ?? []);
export const may = (right: Right) => rights.value.includes(right);

// lastHello stays while the connection is away: what a device may do does not change by that.
export const lastHello = signal(link.hello.value);
link.hello.subscribe((hello) => {
  if (hello) lastHello.value = hello;
  else if (link.status.value.kind === "ended") lastHello.value = null;
});

export const appServer = signal<AppServer | null>(null);
link.on("hub/hello", (hello) => (appServer.value = hello.appServer));
link.on("hub/appServer", (state: AppServer) => (appServer.value = state));

// outdated: the hub carries another page than this one.
export const outdated = computed(() => {
  const page = link.hello.value?.capabilities?.page;
  return typeof page === "string" && page !== BUILD;
});
