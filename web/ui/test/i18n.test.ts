import { expect, test } from "vitest";
import { en } from "../src/i18n/en";
import { zh } from "../src/i18n/zh";

test("every language has the same texts with the same parameters", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  const parameters = (text: string) => [...text.matchAll(/\{(\w+)/g)].map((m) => m[1]).sort();
  for (const [key, text] of Object.entries(en)) expect([key, [...new Set(parameters(zh[key as keyof typeof zh]))]]).toEqual([key, [...new Set(parameters(text))]]);
});
