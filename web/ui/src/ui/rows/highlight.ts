// Colours for code, worked out beside the page: nothing of it runs on the thread that draws.

import { languages } from "./languages";

// Runs of text in turn with what they are: ["keyword", "func", "", " main() {"].
export type Runs = string[];

// Longer code stays plain: its elements would cost more than the colours are worth.
export const longest = 16 << 10;

// A grammar that takes longer than this on some text is not coming back.
const patience = 3000;

const known = new Map<string, Promise<Runs | null>>();
const maxKnown = 100; // blocks that are scrolled out and in again keep their colours
const waiting = new Map<number, (runs: Runs | null) => void>();
let worker: Worker | null = null;
let asked = 0;

// grammar is the language that the highlighter knows a name or the end of a file's name by.
export function grammar(name: string | undefined): string | undefined {
  const wanted = name?.trim().split(/[\s,{:]/)[0]!.toLowerCase();
  if (!wanted) return undefined;
  return Object.keys(languages).find((l) => l === wanted || languages[l]!.includes(wanted));
}

// ofPath is the language of a file.
export const ofPath = (path: string) => grammar(/\.?([^./\\]+)$/.exec(path)?.[1]);

export function highlight(code: string, language: string): Promise<Runs | null> {
  if (code.length > longest || typeof Worker === "undefined") return Promise.resolve(null);
  const key = `${language}\n${code}`;
  let runs = known.get(key);
  if (!runs) {
    runs = ask(code, language);
    known.set(key, runs);
    if (known.size > maxKnown) known.delete(known.keys().next().value!);
  }
  return runs;
}

function ask(code: string, language: string): Promise<Runs | null> {
  return new Promise((resolve) => {
    const id = ++asked;
    worker ??= start();
    const late = setTimeout(giveUp, patience);
    waiting.set(id, (runs) => {
      clearTimeout(late);
      resolve(runs);
    });
    worker.postMessage({ id, code, language });
  });
}

function start(): Worker {
  const made = new Worker("highlight.js");
  made.onmessage = ({ data }: MessageEvent<{ id: number; runs: Runs | null }>) => {
    waiting.get(data.id)?.(data.runs);
    waiting.delete(data.id);
  };
  made.onerror = giveUp;
  return made;
}

// giveUp leaves everything that was asked plain; the next one gets a new worker.
function giveUp() {
  worker?.terminate();
  worker = null;
  for (const answer of waiting.values()) answer(null);
  waiting.clear();
}
