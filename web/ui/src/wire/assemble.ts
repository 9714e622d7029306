// Puts frames together that came in fragments.

import { crc32 } from "./crc32";
import type { Frame, PhysicalFrame } from "./types";

const LARGEST = 16 * 2 ** 20; // bytes of one frame, as the protocol allows
const MOST = 1024; // fragments of one frame, likewise

interface Staged {
  ordinal: number;
  id: string;
  count: number;
  checksum: string;
  bytes: number;
  parts: (Uint8Array | undefined)[];
  missing: number;
}

// An Assembler holds at most one unfinished frame: a newer one replaces it.
export class Assembler {
  private staged: Staged | null = null;

  // take gives a whole frame, null if more has to come, and "fault" if what came does not fit together: then the topic
  // must be resynchronised.
  take(physical: PhysicalFrame): Frame | null | "fault" {
    if (physical.kind === "complete") {
      this.staged = null;
      return physical.frame;
    }
    const { fragmentCount: count, fragmentIndex: index, logicalBytes: bytes, logicalFrameOrdinal: ordinal, logicalFrameId: id } = physical;
    if (this.staged && ordinal < this.staged.ordinal) return null;
    if (!this.staged || ordinal > this.staged.ordinal) {
      if (count < 1 || count > MOST || bytes > LARGEST) return this.fail();
      this.staged = { ordinal, id, count, bytes, checksum: physical.checksum.value, parts: new Array(count), missing: count };
    }
    const s = this.staged;
    if (id !== s.id || count !== s.count || bytes !== s.bytes || physical.checksum.value !== s.checksum || index < 0 || index >= count) return this.fail();
    if (s.parts[index]) return null; // came twice
    const part = decode(physical.dataBase64);
    if (!part) return this.fail();
    s.parts[index] = part;
    if (--s.missing > 0) return null;
    this.staged = null;
    return whole(s);
  }

  private fail(): "fault" {
    this.staged = null;
    return "fault";
  }
}

function decode(base64: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    return null;
  }
}

function whole(s: Staged): Frame | "fault" {
  const all = new Uint8Array(s.bytes);
  let at = 0;
  for (const part of s.parts) {
    if (at + part!.length > s.bytes) return "fault";
    all.set(part!, at);
    at += part!.length;
  }
  if (at !== s.bytes || crc32(all) !== s.checksum) return "fault";
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(all));
  } catch {
    return "fault";
  }
}
