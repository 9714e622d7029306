// Where long text is cut, so that what a page shows of it is bounded.

export interface Clip {
  head: string;
  tail: string; // "" unless something was cut
  cut: number; // characters between the two
}

// clip keeps the start and the end of a text, cut at ends of lines if there are any near, and never inside a character.
export function clip(text: string, head: number, tail: number): Clip {
  if (text.length <= head + tail) return { head: text, tail: "", cut: 0 };
  const to = cutBefore(text, head);
  const from = tail ? cutAfter(text, text.length - tail) : text.length;
  return { head: text.slice(0, to), tail: text.slice(from), cut: from - to };
}

// cutBefore is the best place to cut at or a little before i.
export function cutBefore(text: string, i: number): number {
  if (i >= text.length) return text.length;
  const line = text.lastIndexOf("\n", i - 1) + 1;
  if (line > i * 0.7) return line;
  const space = text.lastIndexOf(" ", i - 1) + 1;
  return space > i * 0.7 ? space : whole(text, i);
}

function cutAfter(text: string, i: number): number {
  const line = text.indexOf("\n", i) + 1;
  return line > 0 && line < i + (text.length - i) * 0.3 ? line : whole(text, i);
}

// whole moves i out of the middle of a surrogate pair.
function whole(text: string, i: number): number {
  const c = text.charCodeAt(i);
  return i > 0 && c >= 0xdc00 && c <= 0xdfff ? i - 1 : i;
}

// firstLine is the first line that says something, for a preview.
export function firstLine(text: string, max = 200): string {
  const start = text.search(/\S/);
  if (start < 0) return "";
  const end = text.indexOf("\n", start);
  const line = text.slice(start, end < 0 ? start + max + 1 : Math.min(end, start + max + 1));
  return line.length > max ? `${line.slice(0, whole(line, max))}…` : line.trimEnd();
}
