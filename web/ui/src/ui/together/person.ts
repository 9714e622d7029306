// initials are at most two letters of a name: of its first and its last word, or the first two of one word. Names without
// letters of that kind, Chinese ones for instance, give their first character.
export function initials(name: string): string {
  const words = name.trim().split(/[\s._-]+/).filter(Boolean).map((w) => [...w]);
  const first = words[0];
  if (!first) return "?";
  if (first[0]! > "\u2e80") return first[0]!;
  const letters = words.length > 1 ? [first[0], words.at(-1)![0]] : first.slice(0, 2);
  return letters.join("").toLocaleUpperCase();
}

// hueOf picks one of six colours by the name, so that a person keeps theirs.
export function hueOf(name: string): number {
  let sum = 0;
  for (const c of name) sum = (sum * 31 + c.codePointAt(0)!) % 1_000_003;
  return sum % 6;
}
