// How much of the stream this page asks for, in words that people understand, and which it chooses by itself.

import { computed, effect, signal } from "@preact/signals";
import { link, wanted } from "../wire/link";
import type { Profile } from "../wire/types";
import { bandwidth } from "./settings";

export type Pace = "live" | "second" | "results";

const SLOW = 600; // ms there and back; every update of its own would then come late and in heaps
const FAST = 350; // ms; lower than SLOW, or a way in between would change all the time
const LAGS = 2 * 60_000; // ms; how long a client that was too slow is left with less

const lagged = signal(0); // Date.now() when the hub last said that this client is too slow
const slow = signal(false);

function allowsContinuous(): boolean {
  const profiles = link.hello.value?.principal.profiles;
  return !profiles || profiles.includes("desktop-continuous");
}

const refused = signal(false); // the hub has refused the continuous profile: this token does not allow it

// pace is what the page gets now; choice says whether the page chose it.
export const pace = computed<{ pace: Pace; chosen: "person" | "page" | "token" }>(() => {
  const want = bandwidth.value;
  if (want === "results" || want === "second") return { pace: want, chosen: "person" };
  if (refused.value || !allowsContinuous()) return { pace: "second", chosen: "token" };
  if (want === "live") return { pace: "live", chosen: "person" };
  return { pace: slow.value ? "second" : "live", chosen: "page" };
});

const profileOf = (p: Pace): Profile => (p === "live" ? "desktop-continuous" : "web-remote-replayable");

export function watchBandwidth(): void {
  effect(() => {
    const ms = link.rtt.value;
    if (ms === null) return;
    const now = Date.now();
    if (ms > SLOW || now - lagged.value < LAGS) slow.value = true;
    else if (ms < FAST) slow.value = false;
  });
  link.on("hub/lagged", ({ action }) => {
    if (action === "restored") return;
    lagged.value = Date.now();
    slow.value = true;
  });
  effect(() => {
    const profile = profileOf(pace.value.pace);
    const hello = link.hello.value;
    if (!hello) return;
    if (current.peek() === profile) return;
    link.call<{ clientMode: Profile }>("hub/setProfile", { profile }).then(
      ({ clientMode }) => (current.value = clientMode),
      (error) => {
        if (typeof error.code === "number" && profile === "desktop-continuous") refused.value = true;
      },
    );
  });
  wanted.profile = null;
}

const current = signal<Profile | null>(null);
link.on("hub/hello", (hello) => {
  current.value = hello.clientMode;
  refused.value = false;
});
