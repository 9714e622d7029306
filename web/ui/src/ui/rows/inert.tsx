// Text that others wrote, shown as what it is: no character in it may act. Controls, invisible characters and those that
// turn the direction of reading get a visible sign in their place.

import type { ComponentChildren } from "preact";

// C0 and C1 without tab and line feed, soft hyphen, the signs that turn or isolate direction, zero-width characters other
// than the joiners that emoji and some scripts are made of, line and paragraph separators, tags, halves of surrogate pairs.
const acting = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\p{Surrogate}/u;
const runs = new RegExp(`(${acting.source})\\1*`, "gu");

// More signs than that are not there to be read; elements cost, a replacement character does not.
const maxSigns = 300;

const names: Record<number, string> = {
  0xad: "SHY", 0x61c: "ALM", 0x180e: "MVS", 0x200b: "ZWSP", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS", 0x2029: "PS",
  0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2060: "WJ",
  0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};

// sign is what stands for a character: a control picture, its name, or its number.
export function sign(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  return names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

// inert gives text as children of an element.
export function inert(text: string): ComponentChildren {
  if (!acting.test(text)) return text;
  text = text.replaceAll("\r\n", "\n");
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const found of text.matchAll(runs)) {
    if (parts.length >= 2 * maxSigns) break;
    const code = found[1]!.codePointAt(0)!;
    const count = found[0].length / found[1]!.length;
    parts.push(text.slice(end, found.index));
    parts.push(<span class="ctl">{count > 1 ? `${sign(code)}×${count}` : sign(code)}</span>);
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end).replace(runs, "\ufffd"));
  return parts;
}

// plain is the same where no elements can be: titles, labels, the tab.
export function plain(text: string): string {
  return acting.test(text) ? text.replace(runs, (_, c: string) => sign(c.codePointAt(0)!)) : text;
}
