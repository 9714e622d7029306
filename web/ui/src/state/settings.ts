// What this browser's owner has chosen; it stays in this browser.

import { effect, signal, type Signal } from "@preact/signals";
import { speak, type Language } from "../i18n";

export type Theme = "system" | "light" | "dark";
export type Bandwidth = "auto" | "live" | "second" | "results";

function kept<T extends string>(name: string, values: readonly T[], otherwise: T): Signal<T> {
  const key = `hub.${name}`;
  const stored = localStorage.getItem(key) as T | null;
  const choice = signal(stored && values.includes(stored) ? stored : otherwise);
  choice.subscribe((value) => localStorage.setItem(key, value));
  return choice;
}

export const THEMES = ["system", "light", "dark"] as const;
export const SIZES = ["0.9", "1", "1.15", "1.3"] as const;
export const LANGUAGES = ["en", "zh"] as const;
export const BANDWIDTHS = ["auto", "live", "second", "results"] as const;

export const theme = kept<Theme>("theme", THEMES, "system");
export const textSize = kept<(typeof SIZES)[number]>("size", SIZES, "1");
export const chosenLanguage = kept<Language>("language", LANGUAGES, navigator.language.startsWith("zh") ? "zh" : "en");
export const bandwidth = kept<Bandwidth>("bandwidth", BANDWIDTHS, "auto");

// applySettings keeps the document as chosen.
export async function applySettings(): Promise<void> {
  const root = document.documentElement;
  effect(() => {
    if (theme.value === "system") delete root.dataset.theme;
    else root.dataset.theme = theme.value;
  });
  effect(() => root.style.setProperty("--text-scale", textSize.value));
  if (chosenLanguage.value !== "en") await speak(chosenLanguage.value);
  chosenLanguage.subscribe((wanted) => {
    void speak(wanted);
    // The worker cannot read what else is kept here, and writes on buttons too.
    if (window.caches) void caches.open("hub-settings").then((cache) => cache.put("language", new Response(wanted))).catch(() => {});
  });
}
