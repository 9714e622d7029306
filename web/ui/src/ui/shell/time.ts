// Time as people say it. Clocks on the page stand still while it is stale.

import { signal } from "@preact/signals";
import { t, language } from "../../i18n";
import { link, live } from "../../wire/link";

const TICK = 10_000; // ms; ages are told in minutes

export const clock = signal(link.now()); // the hub's time
setInterval(() => {
  if (live.peek() && !document.hidden) clock.value = link.now();
}, TICK);
live.subscribe((is) => is && (clock.value = link.now()));

const MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

// age says how long ago something was, in a word that fits beside a title.
export function age(at: number): string {
  const ms = Math.max(0, clock.value - at);
  if (ms < MINUTE) return t("age.now");
  if (ms < HOUR) return t("age.minutes", { n: Math.floor(ms / MINUTE) });
  if (ms < DAY) return t("age.hours", { n: Math.floor(ms / HOUR) });
  if (ms < 7 * DAY) return t("age.days", { n: Math.floor(ms / DAY) });
  return new Date(at).toLocaleDateString(language.value, { day: "numeric", month: "short" });
}

// span says how long something took.
export function span(ms: number): string {
  if (ms < MINUTE) return t("span.seconds", { n: Math.max(1, Math.round(ms / 1000)) });
  if (ms < HOUR) return t("span.minutes", { n: Math.round(ms / MINUTE) });
  return t("span.hours", { n: Math.floor(ms / HOUR), m: Math.round((ms % HOUR) / MINUTE) });
}
