// Every text that a person sees. English is the source of keys; a language has the same ones (test/i18n.test.ts).

import { signal } from "@preact/signals";
import { en, type Key } from "./en";

export type Language = "en" | "zh";
export type Texts = Record<Key, string>;

const texts = signal<Record<string, string>>(en);
export const language = signal<Language>("en");

// t gives the text of a key; {name} in it stands for a parameter, {n|one|many} for one of two words by a number.
export function t(key: Key, params?: Record<string, string | number>): string {
  const text = texts.value[key] ?? en[key];
  if (!params) return text;
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (whole, name: string, one?: string, many?: string) => {
    const value = params[name];
    if (value === undefined) return whole;
    if (one === undefined) return String(value);
    return value === 1 ? one : many!;
  });
}

export async function speak(wanted: Language): Promise<void> {
  const next: Record<string, string> = wanted === "zh" ? (await import("./zh")).zh : en;
  texts.value = next;
  language.value = wanted;
  document.documentElement.lang = wanted === "zh" ? "zh-Hans" : "en";
}
