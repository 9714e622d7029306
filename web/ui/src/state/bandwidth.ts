// How much of the stream this page asks for, in words that people understand, and which it chooses by itself:
//
//	live     every update, merged no more than this device's token demands
//	second   merged by the hub, and shown once a second
//	results  a running turn is looked at now and then; its end, and questions, are told at once (conversation.ts)

import { computed, effect, signal, untracked } from "@preact/signals";
import { link, wanted } from "../wire/link";
import type { Profile } from "../wire/types";
import { bandwidth } from "./settings";

export type Pace = "live" | "second" | "results";

const SLOW = 600; // ms there and back; every update of its own would then come late and in heaps
const FAST = 350; // ms; lower than SLOW, or a way in between would change all the time
const LAGS = 2 * 60_000; // ms; how long a client that was too slow is left with less
const SECOND = 1_000; // ms

const slow = signal(false);
const lagged = signal(false); // the hub said that this client does not keep up
const thin = signal(false); // the token does not allow every update of its own

// pace is what the page gets now, how that is called, and who chose it.
export const pace = computed<{ pace: Pace; word: Pace | "merged"; why: "person" | "page" | "paired" }>(() => {
  const want = bandwidth.value;
  const now = want !== "auto" ? want : slow.value || lagged.value ? "second" : "live";
  if (now === "live" && thin.value) return { pace: now, word: "merged", why: "paired" };
  return { pace: now, word: now, why: want === "auto" ? "page" : "person" };
});

const profile = computed<Profile>(() => (pace.value.pace === "live" && !thin.value ? "desktop-continuous" : "web-remote-replayable"));
const current = signal<Profile | null>(null);

export function watchBandwidth(): void {
  let until: ReturnType<typeof setTimeout> | undefined;
  link.on("hub/hello", (hello) => {
    current.value = hello.clientMode;
    thin.value = false;
  });
  link.on("hub/lagged", ({ action }) => {
    if (action === "restored") return;
    lagged.value = true;
    clearTimeout(until);
    until = setTimeout(() => (lagged.value = false), LAGS);
  });
  effect(() => {
    const ms = link.rtt.value;
    if (ms !== null && ms > SLOW) slow.value = true;
    else if (ms !== null && ms < FAST) slow.value = false;
  });
  effect(() => {
    wanted.every = pace.value.pace === "live" ? 0 : SECOND;
  });
  effect(() => {
    if (!link.hello.value || current.value === null || current.value === profile.value) return;
    untracked(() => void ask(profile.value));
  });
}

async function ask(profile: Profile): Promise<void> {
  try {
    current.value = (await link.call<{ clientMode: Profile }>("hub/setProfile", { profile })).clientMode;
  } catch (error) {
    if (typeof (error as { code: unknown }).code === "number") thin.value = profile === "desktop-continuous";
  }
}
