import { expect, test } from "vitest";
import { uuid7 } from "../src/state/uuid";

test("an id carries version, variant and its time", () => {
  const id = uuid7(0x0123456789ab, (b) => b.fill(0xff));
  expect(id).toBe("01234567-89ab-7fff-bfff-ffffffffffff");
});

test("ids sort by the time they were made, and no two are the same", () => {
  const ids = Array.from({ length: 1000 }, (_, i) => uuid7(1_791_032_434_000 + i));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(Array.from({ length: 1000 }, () => uuid7(1))).size).toBe(1000);
});
