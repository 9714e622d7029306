// Time as people say it, and the clocks by which ages and countdowns go on.

import { signal, type ReadonlySignal } from "@preact/signals";
import { t, language } from "../i18n";
import { link, live } from "../wire/link";

// ticking is the hub's time. It ticks only while the page is live and somebody looks: what is stale must not seem to go on.
function ticking(ms: number): ReadonlySignal<number> {
  const now = signal(link.now());
  const tick = () => {
    if (live.peek() && !document.hidden) now.value = link.now();
  };
  setInterval(tick, ms);
  live.subscribe(tick);
  document.addEventListener("visibilitychange", tick);
  return now;
}

export const second = ticking(1000);
export const quarter = ticking(15_000); // of a minute: for ages that are told in minutes

const MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

// age says how long ago something was, in a word that fits beside a title.
export function age(at: number): string {
  const ms = Math.max(0, quarter.value - at);
  if (ms < MINUTE) return t("time.now");
  if (ms < HOUR) return t("time.minutes", { n: Math.floor(ms / MINUTE) });
  if (ms < DAY) return t("time.hours", { n: Math.floor(ms / HOUR) });
  if (ms < 7 * DAY) return t("time.days", { n: Math.floor(ms / DAY) });
  return new Date(at).toLocaleDateString(language.value, { day: "numeric", month: "short" });
}

// span says roughly how long something took: "12 s", "3 min", "2 h 5 min".
export function span(ms: number): string {
  if (ms < MINUTE) return t("time.seconds", { n: Math.max(1, Math.round(ms / 1000)) });
  const min = Math.round(ms / MINUTE);
  return min < 60 ? t("time.minutes", { n: min }) : hours(min);
}

export function hours(min: number): string {
  const whole = t("time.hours", { n: Math.floor(min / 60) });
  return min % 60 ? `${whole} ${t("time.minutes", { n: min % 60 })}` : whole;
}

// hourMinute is the time of a day, as the reader's language writes it.
export const hourMinute = (at: number): string => new Date(at).toLocaleTimeString(language.value, { hour: "2-digit", minute: "2-digit" });
