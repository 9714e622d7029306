// The output of commands: the eight colours of its letters are kept, everything else that would steer a terminal goes.
// Backgrounds are left out: with the page's own colours on them nobody could promise that the text can be read.

export interface Span {
  text: string;
  classes: string; // "" for plain text
}

// One output may change its colour this often; what follows is plain.
const maxSpans = 2000;

// CSI with its final byte; OSC, DCS, PM, APC and SOS up to their end; every other escape.
const sequence = /(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])?|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?/g;

export function ansi(raw: string): Span[] {
  const text = overwritten(raw);
  const spans: Span[] = [];
  let style = new Set<string>();
  let end = 0;
  const push = (part: string) => {
    if (!part) return;
    const classes = [...style].join(" ");
    const last = spans.at(-1);
    if (last?.classes === classes) last.text += part;
    else spans.push({ text: part, classes });
  };
  for (const found of text.matchAll(sequence)) {
    push(text.slice(end, found.index));
    if (spans.length === maxSpans) {
      spans.push({ text: text.slice(found.index).replace(sequence, ""), classes: "" });
      return spans;
    }
    end = found.index + found[0].length;
    if (found[2] === "m") style = styled(style, found[1]!);
  }
  push(text.slice(end));
  return spans;
}

// overwritten plays carriage returns and backspaces, as progress bars use them: a line shows what was written last.
function overwritten(text: string): string {
  if (text.includes("\r")) {
    text = text.replaceAll("\r\n", "\n").replace(/[^\n]*\r[^\n]*/g, (line) => line.split("\r").findLast((part) => part !== "") ?? "");
  }
  if (text.includes("\b")) {
    const kept: string[] = [];
    for (const c of text) {
      if (c !== "\b") kept.push(c);
      else if (kept.length > 0 && kept.at(-1) !== "\n") kept.pop();
    }
    text = kept.join("");
  }
  return text;
}

const switches: Record<number, [string, boolean]> = {
  1: ["bold", true], 2: ["faint", true], 3: ["italic", true], 4: ["underline", true], 9: ["struck", true],
  23: ["italic", false], 24: ["underline", false], 29: ["struck", false],
};

// styled applies one SGR sequence.
function styled(before: Set<string>, parameters: string): Set<string> {
  let style = new Set(before);
  const colour = (n: number | null) => {
    for (const name of style) if (name.startsWith("ink")) style.delete(name);
    if (n !== null) style.add(`ink${n}`);
  };
  const codes = parameters.split(/[;:]/).map((p) => Number(p) || 0);
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i]!;
    const on = switches[c];
    if (on) style[on[1] ? "add" : "delete"](on[0]);
    else if (c === 0) style = new Set();
    else if (c === 22) ["bold", "faint"].forEach((name) => style.delete(name));
    else if (c === 38 || c === 48) {
      if (c === 38) colour(nearest(codes.slice(i + 1)));
      i += codes[i + 1] === 2 ? 4 : 2;
    } else if (c === 39) colour(null);
    else if ((c >= 30 && c <= 37) || (c >= 90 && c <= 97)) colour(c % 10);
  }
  return style;
}

// nearest is the one of the eight colours for what follows 38: a number of the palette, or three parts of a colour.
function nearest([kind, a = 0, b = 0, c = 0]: number[]): number | null {
  if (kind === 2) return ofParts(a, b, c);
  if (kind !== 5 || a > 255) return null;
  if (a < 16) return a % 8;
  if (a >= 232) return a < 240 ? 0 : 7;
  const part = (n: number) => (n === 0 ? 0 : 55 + 40 * n);
  return ofParts(part(Math.floor((a - 16) / 36)), part(Math.floor((a - 16) / 6) % 6), part((a - 16) % 6));
}

// ofParts has one bit for each part that is strong beside the strongest, in the order in which terminals count.
function ofParts(red: number, green: number, blue: number): number {
  const strong = Math.max(red, green, blue) * 0.65;
  if (strong < 40) return 0;
  return [red, green, blue].reduce((sum, part, bit) => sum + (part >= strong ? 1 << bit : 0), 0);
}
