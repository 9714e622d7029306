// Where the page is: the fragment of its address, so that back and reload do what they should.

import { signal } from "@preact/signals";

export type Route =
  | { page: "sessions" }
  | { page: "session"; sessionId: string }
  | { page: "new"; folder?: string }
  | { page: "settings" };

function read(): Route {
  const [, page = "", rest = ""] = /^#\/([^/]*)(?:\/(.*))?$/.exec(location.hash) ?? [];
  const what = decoded(rest);
  if (page === "s" && what) return { page: "session", sessionId: what };
  if (page === "new") return what ? { page: "new", folder: what } : { page: "new" };
  return page === "settings" ? { page: "settings" } : { page: "sessions" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return ""; // somebody typed it
  }
}

export const route = signal<Route>(read());

// An entry of the history that was come to from the list has the list behind it.
addEventListener("hashchange", () => {
  const before = route.value.page;
  route.value = read();
  if (!history.state) history.replaceState({ fromList: before === "sessions" }, "");
});

export const sessionLink = (sessionId: string) => `#/s/${encodeURIComponent(sessionId)}`;

export const newLink = (folder = "") => (folder ? `#/new/${encodeURIComponent(folder)}` : "#/new");

// back leads to the list. If that is where one came from, it is the step that the phone's own gesture makes.
export function back(e: MouseEvent): void {
  if (!history.state?.fromList) return;
  e.preventDefault();
  history.back();
}

export function go(to: string): void {
  location.hash = to;
}

// goOn goes where this page led to; going back leads past it.
export function goOn(to: string): void {
  const { state } = history;
  location.replace(to);
  history.replaceState(state, "");
}
