// What stands in the list of a transcript: rows, and lines that runs of steps are folded under.

import type { Row } from "../../wire/types";

// Item is one element of the list. Its key stays while it does: the number of its row, for a fold minus that of its first.
export interface Item {
  key: number;
  rows: number[]; // one, or those of a fold
}

// Fewer steps than this are not worth a fold.
const leastRun = 3;

const steps = new Set<Row["kind"]>(["reasoning", "toolCall", "hookInvocation"]);

// arrange puts rows into items. In the turns for which folds says so, a run of steps gets a fold before it; its rows
// follow if that is open.
export function arrange(ids: number[], row: (id: number) => Row, folds: (turnId: string) => boolean, open: (key: number, turnId: string) => boolean): Item[] {
  const items: Item[] = [];
  for (let i = 0; i < ids.length; ) {
    const { kind, turnId } = row(ids[i]!);
    let end = i + 1;
    if (steps.has(kind) && folds(turnId)) {
      for (let next; end < ids.length && steps.has((next = row(ids[end]!)).kind) && next.turnId === turnId; ) end++;
    }
    const key = -ids[i]!;
    const fold = end - i >= leastRun;
    if (fold) items.push({ key, rows: ids.slice(i, end) });
    if (!fold || open(key, turnId)) for (let n = i; n < end; n++) items.push({ key: ids[n]!, rows: [ids[n]!] });
    i = end;
  }
  return items;
}
