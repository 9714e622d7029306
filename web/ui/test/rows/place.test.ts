import { expect, test } from "vitest";
import { anchorAt, Heights, moved, placeOf } from "../../src/ui/rows/heights";
import { arrange } from "../../src/ui/rows/items";
import type { Row } from "../../src/wire/types";

const list = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

function made(keys: number[], height = 10): Heights<number> {
  const heights = new Heights<number>(() => height);
  heights.set(keys);
  return heights;
}

test("sums and look-ups agree with adding up by hand, whatever was measured", () => {
  const heights = made(list(0, 1000));
  const all = list(0, 1000).map(() => 10);
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let n = 0; n < 3000; n++) {
    const i = random(1000), h = random(90);
    heights.measured(i, h);
    all[i] = h;
  }
  let sum = 0;
  for (let i = 0; i < 1000; i++) {
    expect(heights.top(i)).toBe(sum);
    if (all[i]! > 0) {
      expect(heights.at(sum)).toBe(i);
      expect(heights.at(sum + all[i]! - 1)).toBe(i);
    }
    sum += all[i]!;
  }
  expect(heights.total).toBe(sum);
  expect(heights.at(-5)).toBe(list(0, 1000).find((i) => all[i]! > 0));
  expect(heights.at(sum + 5)).toBe(999);
});

test("an empty list has no place", () => {
  const heights = made([]);
  expect([heights.total, heights.at(10), anchorAt(heights, 10)]).toEqual([0, 0, null]);
});

test("the reader's place survives rows that come before it and rows that grow above it", () => {
  const heights = made(list(100, 160));
  const anchor = anchorAt(heights, 123)!;
  expect(anchor).toEqual({ key: 112, offset: 3 });
  heights.measured(105, 70);
  expect(placeOf(heights, anchor)).toBe(183);
  heights.set(list(0, 160));
  expect(placeOf(heights, anchor)).toBe(1183); // what was measured is still known
  heights.measured(150, 500); // below
  expect(placeOf(heights, anchor)).toBe(1183);
});

test("a place that is gone becomes the end of what was before it, or the start of what comes after", () => {
  const heights = made(list(0, 10));
  const anchor = { key: 5, offset: 4 };
  expect(moved(heights, anchor, () => true)).toBe(anchor);
  expect(moved(heights, anchor, (k) => k < 4)).toEqual({ key: 3, offset: 10 });
  expect(moved(heights, anchor, (k) => k > 6)).toEqual({ key: 7, offset: 0 });
  expect(moved(heights, anchor, () => false)).toBeNull();
});

const rows: Record<number, Row> = {};
const kinds = "turnHeader userInput reasoning toolCall toolCall assistantText toolCall reasoning hookInvocation toolCall assistantText".split(" ");
kinds.forEach((kind, i) => (rows[i + 1] = { rowId: i + 1, kind, turnId: "one" } as Row));
const ids = Object.keys(rows).map(Number);
const keys = (folds: boolean, open: boolean) => arrange(ids, (id) => rows[id]!, () => folds, () => open).map((i) => i.key);

test("runs of steps fold in a turn that is over, and only there", () => {
  expect(keys(false, false)).toEqual(ids);
  expect(keys(true, false)).toEqual([1, 2, -3, 6, -7, 11]);
  expect(keys(true, true)).toEqual([1, 2, -3, 3, 4, 5, 6, -7, 7, 8, 9, 10, 11]);
});

test("steps of two turns never share a fold", () => {
  const two = { ...rows, 4: { ...rows[4]!, turnId: "two" }, 5: { ...rows[5]!, turnId: "two" } } as Record<number, Row>;
  expect(arrange([3, 4, 5], (id) => two[id]!, () => true, () => false).map((i) => i.key)).toEqual([3, 4, 5]);
});
