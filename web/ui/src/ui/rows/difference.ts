// What an edit changes, line by line, with the words that differ inside a line that was changed.

import { diffLines, diffWordsWithSpace } from "diff";

export interface Line {
  kind: "same" | "added" | "removed" | "gap"; // a gap stands where lines that are the same were left out
  text: string;
  before?: number; // numbers of the line
  after?: number;
  words?: [text: string, changed: boolean][];
}

// Lines around a change that are shown with it.
const around = 3;

// Comparing takes no longer than that on the thread that draws; what is not done by then is shown as replaced whole.
const budget = 30;

// Lines that are longer are not looked into, and neither are those that have next to nothing in common.
const longestLine = 400;
const commonShare = 0.4;
const maxCompared = 200; // pairs of lines: somebody reads the words of so many, of more the lines

// difference compares two texts.
export function difference(before: string, after: string, firstLine?: number): Line[] {
  const changes = diffLines(before, after, { timeout: budget, maxEditLength: 2000 }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  const lines: Line[] = [];
  let b = firstLine ?? 1, a = firstLine ?? 1;
  for (const change of changes) {
    const kind = change.added ? "added" : change.removed ? "removed" : "same";
    for (const text of linesOf(change.value)) {
      lines.push({ kind, text, ...(kind !== "added" && { before: b++ }), ...(kind !== "removed" && { after: a++ }) });
    }
  }
  return withWords(folded(lines));
}

// parsed reads a unified diff. What it does not understand is shown as a line that is the same.
export function parsed(unified: string): Line[] {
  const lines: Line[] = [];
  let b = 0, a = 0, inHunk = false;
  for (const text of linesOf(unified)) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(text);
    if (hunk) {
      [b, a, inHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      if (lines.length > 0 || hunk[3]!.trim()) lines.push({ kind: "gap", text: hunk[3]!.trim() });
    } else if (!inHunk || /^(diff |index |--- \S|\+\+\+ \S|\\ )/.test(text)) continue;
    else if (text.startsWith("+")) lines.push({ kind: "added", text: text.slice(1), after: a++ });
    else if (text.startsWith("-")) lines.push({ kind: "removed", text: text.slice(1), before: b++ });
    else lines.push({ kind: "same", text: text.slice(1), before: b++, after: a++ });
  }
  return withWords(lines);
}

// counts is how many lines come and go.
export function counts(lines: Line[]): { added: number; removed: number } {
  return { added: lines.filter((l) => l.kind === "added").length, removed: lines.filter((l) => l.kind === "removed").length };
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

// folded leaves out lines that are the same and far from any change.
function folded(lines: Line[]): Line[] {
  const kept: Line[] = [];
  const near = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (line.kind !== "same") near.fill(1, Math.max(i - around, 0), i + around + 1);
  });
  lines.forEach((line, i) => {
    if (near[i]) kept.push(line);
    else if (i === 0 || near[i - 1]) kept.push({ kind: "gap", text: "" });
  });
  return kept;
}

// withWords marks the words that differ between lines that took each other's place.
function withWords(lines: Line[]): Line[] {
  let compared = 0;
  for (let i = 0; i < lines.length && compared < maxCompared; i++) {
    const from = i;
    while (lines[i]?.kind === "removed") i++;
    const middle = i;
    while (lines[i]?.kind === "added") i++;
    if (middle - from === i - middle) for (let n = 0; n < middle - from && compared < maxCompared; n++, compared++) compare(lines[from + n]!, lines[middle + n]!);
    if (i > from) i--;
  }
  return lines;
}

function compare(removed: Line, added: Line) {
  if (removed.text.length > longestLine || added.text.length > longestLine) return;
  const words = diffWordsWithSpace(removed.text, added.text);
  const common = words.reduce((sum, w) => sum + (w.added || w.removed ? 0 : w.value.trim().length), 0);
  if (common < commonShare * Math.min(removed.text.trim().length, added.text.trim().length)) return;
  removed.words = words.filter((w) => !w.added).map((w) => [w.value, w.removed]);
  added.words = words.filter((w) => !w.removed).map((w) => [w.value, w.added]);
}
