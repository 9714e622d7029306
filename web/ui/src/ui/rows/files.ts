// Files that rows show: read in pieces when somebody wants to see them.

import { link } from "../../wire/link";

// As much as one answer may carry.
const piece = 512 << 10;

// A file is never longer than what may be attached.
const longest = 20 << 20;

export interface Source {
  sessionId: string;
  ref: string;
  target: { rowId: number; entityId: string };
  index?: number; // among the attachments of the row
}

interface Piece {
  dataBase64: string;
  mediaType: string;
  totalBytes: number;
  nextOffset: number | null;
}

// read gives the whole file; told hears which share of it is there.
export async function read({ sessionId, ref, target, index }: Source, told: (share: number) => void): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0, kind = "";
  for (;;) {
    const got = await link.call<Piece>("v4/attachment/read", { sessionId, ref, target, ...(index !== undefined && { attachmentIndex: index }), offset, limit: piece });
    kind = got.mediaType;
    parts.push(bytes(got.dataBase64));
    if (got.nextOffset === null || got.nextOffset <= offset || got.nextOffset > longest) return new Blob(parts, { type: kind });
    offset = got.nextOffset;
    told(offset / got.totalBytes);
  }
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out;
}

// isPicture tells whether a file may be shown as a picture. Others are only ever saved: nothing in them can run here.
export const isPicture = (mime: string) => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(mime);
