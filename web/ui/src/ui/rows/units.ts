// Sizes, counts, durations and times as people read them.

import { language, t } from "../../i18n";
import { hours } from "../time";

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1000 * 1024) return `${digits(bytes / 1024)} KB`;
  return `${digits(bytes / 1024 / 1024)} MB`;
}

const digits = (n: number) => (n < 10 ? n.toFixed(1) : Math.round(n).toString());

export function tokens(n: number): string {
  if (n < 1000) return `${n}`;
  return n < 1_000_000 ? `${digits(n / 1000)}k` : `${digits(n / 1_000_000)}M`;
}

// duration is "0.4 s", "12 s", "3 min 4 s", "2 h 5 min".
export function duration(ms: number): string {
  if (ms < 9950) return t("time.seconds", { n: (Math.max(ms, 0) / 1000).toFixed(1) });
  const s = Math.round(ms / 1000);
  if (s < 60) return t("time.seconds", { n: s });
  const min = Math.floor(s / 60);
  if (min < 60) return s % 60 ? `${t("time.minutes", { n: min })} ${t("time.seconds", { n: s % 60 })}` : t("time.minutes", { n: min });
  return hours(min);
}

// running is the duration of something that still runs: whole seconds, which tick.
export const running = (ms: number) => duration(ms < 9950 ? Math.floor(Math.max(ms, 0) / 1000) * 1000 : ms).replace(".0", "");

// Making a formatter takes far longer than using it.
const formats = new Map<string, Intl.DateTimeFormat>();
function format(at: number, options: Intl.DateTimeFormatOptions): string {
  const key = language.value + Object.values(options).join();
  let known = formats.get(key);
  if (!known) formats.set(key, (known = new Intl.DateTimeFormat(language.value, options)));
  return known.format(at);
}

export function clock(at: number, now: number): string {
  const near = new Date(now).toDateString() === new Date(at).toDateString();
  return format(at, near ? { hour: "2-digit", minute: "2-digit" } : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

export const fully = (at: number) => format(at, { dateStyle: "medium", timeStyle: "medium" });

export function ago(at: number, now: number): string {
  const min = Math.floor((now - at) / 60_000);
  if (min < 1) return t("time.justNow");
  if (min < 60) return t("time.ago", { time: t("time.minutes", { n: min }) });
  if (min < 24 * 60) return t("time.ago", { time: t("time.hours", { n: Math.floor(min / 60) }) });
  return clock(at, now);
}
