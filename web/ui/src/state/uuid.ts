// A UUID of version 7 (RFC 9562, section 5.7): the time in milliseconds, then chance, so that ids sort by the time they were made.
// Commands are named so, since the agent tells a repeated command by its name.
export function uuid7(now = Date.now(), random: (into: Uint8Array) => Uint8Array = fill): string {
  const bytes = random(new Uint8Array(16));
  for (let i = 0; i < 6; i++) bytes[i] = Math.floor(now / 2 ** (8 * (5 - i))) % 256;
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

// crypto.getRandomValues, unlike crypto.randomUUID, is there on a page that came without TLS.
const fill = (into: Uint8Array) => crypto.getRandomValues(into as Uint8Array<ArrayBuffer>);
