// When to connect again after a connection ended, and when not to.

export type EndReason = "revoked" | "expired" | "signIn" | "signedOut" | "broken" | "policy" | "tooBig";

// The close codes after which coming again is no use; the table is in docs/protocol.md.
const FINAL: Record<number, EndReason> = {
  1002: "broken",
  1007: "broken",
  1008: "policy",
  1009: "tooBig",
  4403: "revoked",
};

export const EXPIRED = 4401;
export const OVERLOADED = 1013;
const TOO_SLOW = 4408;

export const finalReason = (code: number): EndReason | undefined => FINAL[code];

const FIRST = 500; // ms; a hub that restarts is back within a second
const LONGEST = 30_000; // ms; longer and a person reloads the page
const LATER = 10_000; // ms; what an overloaded hub is left alone for
const LEAST = 150; // ms; so that nothing tries in a tight loop

// delay is the pause before the next try, after so many failures in a row: anywhere in a span that doubles, so that the
// clients of a hub that restarts do not come all at once. hint is what the hub asked for.
export function delay(code: number, failures: number, hint: number, random: () => number = Math.random): number {
  if (code === TOO_SLOW && failures === 0) return 0; // the hub wants it back at once, with its cursor
  const span = Math.min(LONGEST, FIRST * 2 ** failures);
  const floor = hint + (code === OVERLOADED ? LATER : 0);
  return Math.round(Math.max(LEAST, floor + random() * span));
}
