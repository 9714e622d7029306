// commandId names a command, and stays the same when it is sent again: a UUID of version 7 (RFC 9562, 5.7), which begins
// with the time, so that ids sort by it. crypto.getRandomValues, unlike randomUUID, is there on a page without TLS.
export function commandId(now = Date.now(), bytes = crypto.getRandomValues(new Uint8Array(16))): string {
  for (let i = 0; i < 6; i++) bytes[i] = Math.floor(now / 2 ** (8 * (5 - i))) % 256;
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
