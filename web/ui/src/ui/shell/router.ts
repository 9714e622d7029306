// Where the page is: the fragment of its address, so that back and reload do what they should.

import { signal } from "@preact/signals";

export type Route =
  | { page: "sessions" }
  | { page: "session"; sessionId: string }
  | { page: "settings" };

function read(): Route {
  const hash = location.hash.slice(1);
  if (hash.startsWith("/s/")) {
    try {
      return { page: "session", sessionId: decodeURIComponent(hash.slice(3)) };
    } catch {
      return { page: "sessions" };
    }
  }
  if (hash === "/settings") return { page: "settings" };
  return { page: "sessions" };
}

export const route = signal<Route>(read());

// An entry of the history that this page made has the page behind it: going back stays inside.
addEventListener("hashchange", () => {
  route.value = read();
  if (!history.state) history.replaceState({ inside: true }, "");
});

export const sessionLink = (sessionId: string) => `#/s/${encodeURIComponent(sessionId)}`;

export function go(to: string): void {
  location.hash = to;
}
