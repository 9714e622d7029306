// The input of a tool call while it is still being written: JSON without its end.

// member gives a string member of an object, complete or as far as it has come; undefined if it has not begun.
export function member(json: string, name: string): string | undefined {
  const begin = new RegExp(`[{,]\\s*${JSON.stringify(name)}\\s*:\\s*"`).exec(json);
  if (!begin) return undefined;
  const from = begin.index + begin[0].length;
  const end = /(?<!\\)(?:\\\\)*"/.exec(json.slice(from));
  const body = end ? json.slice(from, from + end.index + end[0].length - 1) : json.slice(from).replace(/\\(u[\da-fA-F]{0,3})?$/, "");
  try {
    return JSON.parse(`"${body}"`) as string;
  } catch {
    return undefined;
  }
}
