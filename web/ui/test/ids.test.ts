import { expect, test } from "vitest";
import { commandId } from "../src/wire/ids";

test("an id carries version, variant and its time", () => {
  const id = commandId(0x0123456789ab, new Uint8Array(16).fill(0xff));
  expect(id).toBe("01234567-89ab-7fff-bfff-ffffffffffff");
});

test("ids sort by the time they were made, and no two are the same", () => {
  const ids = Array.from({ length: 1000 }, (_, i) => commandId(1_791_032_434_000 + i));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(Array.from({ length: 1000 }, () => commandId(1))).size).toBe(1000);
});
