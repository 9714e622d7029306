import { expect, test } from "vitest";
import { delay, finalReason, OVERLOADED } from "../src/wire/retry";

test("the pause doubles up to a ceiling, and lies anywhere below it", () => {
  const longest = [0, 1, 2, 3, 10, 1000].map((failures) => delay(1006, failures, 0, () => 1));
  expect(longest).toEqual([500, 1000, 2000, 4000, 30_000, 30_000]);
  expect(delay(1006, 10, 0, () => 0)).toBeLessThan(200);
  expect(delay(1006, 10, 0, () => 0)).toBeGreaterThan(0);
});

test("what the hub asks for is waited for, and the jitter comes on top", () => {
  expect(delay(1001, 0, 3000, () => 0)).toBe(3000);
  expect(delay(1001, 0, 3000, () => 1)).toBe(3500);
});

test("an overloaded hub is left alone longer, and one that cut a slow page has it back at once", () => {
  expect(delay(OVERLOADED, 0, 0, () => 0)).toBeGreaterThanOrEqual(10_000);
  expect(delay(4408, 0, 0, () => 1)).toBe(0);
  expect(delay(4408, 1, 0, () => 1)).toBeGreaterThan(0);
});

test("only the codes that coming again cannot mend are final", () => {
  expect([1002, 1007, 1008, 1009, 4403].map(finalReason)).toEqual(["broken", "broken", "policy", "tooBig", "revoked"]);
  expect([0, 1000, 1001, 1006, 1013, 4401, 4408].map(finalReason)).toEqual(Array(7).fill(undefined));
});
