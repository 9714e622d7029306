// Files on their way to the agent. An upload goes in pieces and goes on after a cut: at the piece that the agent wants next,
// or from the first one where it has forgotten the upload, which belongs to the connection that began it.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { link, live } from "../wire/link";
import type { KeptFile } from "./drafts";
import { commandId } from "../wire/ids";

export type UploadFate =
  | { kind: "preparing" }
  | { kind: "local" } // there is no session to bring it to yet
  | { kind: "waiting" } // for the connection
  | { kind: "uploading"; done: number } // bytes
  | { kind: "ready"; file: KeptFile }
  | { kind: "failed"; code: string; message?: string };

export interface Upload {
  readonly id: string;
  readonly fileName: string;
  readonly mime: string;
  readonly bytes: number;
  readonly preview: string | null; // address of a picture's own bytes
  readonly fate: ReadonlySignal<UploadFate>;
}

// What uploads need of the connection.
export interface UploadWire {
  live: ReadonlySignal<boolean>;
  call<T>(method: string, params: unknown, o?: { timeoutMs?: number }): Promise<T>;
}

export const maxBytes = 20 * 1024 * 1024; // the agent's limit for one file
export const maxFiles = 10; // the agent takes 16 uploads at once; nobody sends more pictures with one prompt

// A chunk holds back whatever else this connection has to say, an approval for instance: 128 KiB are less than a second at
// 1.6 Mbit/s. The agent takes 64 chunks of at most 512 KiB, so files above 8 MiB get larger ones.
const smallChunk = 128 * 1024;
const maxChunks = 64;
// A chunk of 512 KiB takes 45 s at 128 kbit/s; after more than that the connection is not worth waiting for.
const chunkTimeout = 60_000;
// How often an upload begins anew, without a step forward, because the agent does not know it.
const maxRestarts = 3;

interface Entry extends Upload {
  readonly fate: Signal<UploadFate>;
  file: Blob;
  stopped: boolean;
}

interface State { state: "staging" | "committed"; nextChunkIndex: number; ref?: string }

export class Uploads {
  private readonly lists = new Map<string, Signal<readonly Entry[]>>();
  private turn: Promise<void> = Promise.resolve(); // uploads go one after the other

  constructor(private readonly wire: UploadWire, private readonly shrink: (file: File) => Promise<File> = shrinkPicture) {}

  // The files of one composer; key is the draft's.
  of(key: string): ReadonlySignal<readonly Upload[]> {
    return this.list(key);
  }

  // Takes a file, and uploads it at once if it is known to which session.
  add(key: string, sessionId: string | null, file: File): Upload {
    const entry: Entry = {
      id: commandId(), fileName: file.name || "picture.png", mime: file.type || "application/octet-stream", bytes: file.size, file, stopped: false,
      preview: file.type.startsWith("image/") ? URL.createObjectURL(file) : null, fate: signal<UploadFate>({ kind: "preparing" }),
    };
    this.list(key).value = [...this.list(key).peek(), entry];
    void this.prepare(entry, file).then(() => {
      if (entry.stopped || entry.fate.peek().kind === "failed") return;
      if (sessionId) void this.upload(entry, sessionId);
      else entry.fate.value = { kind: "local" };
    });
    return entry;
  }

  // Uploads what has waited for a session, and tells when that is over, and whether all of it is there.
  async bring(key: string, sessionId: string): Promise<boolean> {
    await Promise.all(this.list(key).peek().map(async (e) => {
      if (e.fate.peek().kind === "preparing") await until(e);
      if (e.fate.peek().kind === "local") await this.upload(e, sessionId);
    }));
    return this.list(key).peek().every((e) => e.fate.peek().kind === "ready");
  }

  retry(upload: Upload, sessionId: string | null): void {
    const entry = upload as Entry;
    if (entry.fate.peek().kind !== "failed") return;
    if (sessionId) void this.upload(entry, sessionId);
    else entry.fate.value = { kind: "local" };
  }

  // Ends an upload and takes the file off the list.
  remove(key: string, upload: Upload, sessionId: string | null): void {
    const entry = upload as Entry;
    entry.stopped = true;
    const list = this.list(key);
    list.value = list.peek().filter((e) => e !== entry);
    if (entry.preview) URL.revokeObjectURL(entry.preview);
    if (sessionId && entry.fate.peek().kind === "uploading") {
      this.wire.call("v4/attachment/abort", { uploadId: entry.id, sessionId }).catch(() => {}); // it expires by itself as well
    }
  }

  // Takes all files of a composer off the list: they went with a prompt.
  clear(key: string): void {
    for (const entry of this.list(key).peek()) this.remove(key, entry, null);
  }

  private list(key: string): Signal<readonly Entry[]> {
    let list = this.lists.get(key);
    if (!list) this.lists.set(key, (list = signal<readonly Entry[]>([])));
    return list;
  }

  private async prepare(entry: Entry, file: File): Promise<void> {
    const fail = (code: string) => (entry.fate.value = { kind: "failed", code });
    if (file.size === 0) return void fail("empty");
    if (!globalThis.crypto?.subtle) return void fail("insecure");
    if (file.size <= maxBytes) return;
    const smaller = await this.shrink(file).catch(() => file);
    if (smaller.size > maxBytes) return void fail("tooLarge");
    Object.assign(entry, { file: smaller, fileName: smaller.name, mime: smaller.type, bytes: smaller.size });
  }

  private upload(entry: Entry, sessionId: string): Promise<void> {
    entry.fate.value = this.wire.live.peek() ? { kind: "uploading", done: 0 } : { kind: "waiting" };
    this.turn = this.turn.then(() => (entry.stopped ? undefined : this.carry(entry, sessionId)));
    return this.turn;
  }

  private async carry(entry: Entry, sessionId: string): Promise<void> {
    const bytes = new Uint8Array(await entry.file.arrayBuffer());
    const size = Math.max(smallChunk, Math.ceil(bytes.length / maxChunks));
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const begin = {
      uploadId: entry.id, sessionId, fileName: entry.fileName, mime: entry.mime, totalBytes: bytes.length,
      totalChunks: Math.ceil(bytes.length / size), checksum: "sha256:" + Array.from(sum, (b) => b.toString(16).padStart(2, "0")).join(""),
    };
    const ids = { uploadId: entry.id, sessionId };
    let restarts = 0;
    for (let pause = 1000; !entry.stopped; pause = Math.min(30_000, pause * 2)) {
      await this.connected(entry);
      if (entry.stopped) return;
      try {
        let state = await this.wire.call<State>("v4/attachment/begin", begin);
        while (state.state !== "committed" && state.nextChunkIndex < begin.totalChunks) {
          const from = state.nextChunkIndex * size;
          entry.fate.value = { kind: "uploading", done: from };
          const next = await this.wire.call<State>("v4/attachment/chunk",
            { ...ids, chunkIndex: state.nextChunkIndex, dataBase64: base64(bytes.subarray(from, from + size)) }, { timeoutMs: chunkTimeout });
          if (entry.stopped) return;
          state = { ...state, nextChunkIndex: next.nextChunkIndex };
          restarts = 0;
          pause = 1000;
        }
        entry.fate.value = { kind: "uploading", done: bytes.length };
        const ref = state.ref ?? (await this.wire.call<{ ref: string }>("v4/attachment/commit", ids)).ref;
        entry.fate.value = { kind: "ready", file: { ref, fileName: entry.fileName, mime: entry.mime, bytes: bytes.length } };
        return;
      } catch (error) {
        if (entry.stopped) return;
        const e = error as { code?: number | string; message?: string; data?: { retryAfterMs?: number } };
        if (forgotten(e) && ++restarts <= maxRestarts) continue;
        if (!passing(e)) {
          entry.fate.value = { kind: "failed", code: faultOf(e), message: e.message };
          return;
        }
        entry.fate.value = { kind: "waiting" };
        if (this.wire.live.peek()) await new Promise((resolve) => setTimeout(resolve, e.data?.retryAfterMs ?? pause));
      }
    }
  }

  // Waits for the connection, or until nobody wants the upload any more.
  private async connected(entry: Entry): Promise<void> {
    while (!this.wire.live.peek() && !entry.stopped) {
      entry.fate.value = { kind: "waiting" };
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, 500); // to see that it was stopped
        const stop = this.wire.live.subscribe((l) => l && done());
        function done() {
          clearTimeout(timer);
          queueMicrotask(() => stop());
          resolve();
        }
      });
    }
  }
}

interface Failure { code?: number | string; message?: string }

const faultOf = (e: Failure) => /fault\.attachment\.(\w+)/.exec(e.message ?? "")?.[1] ?? String(e.code ?? "unknown");

// The agent forgets an upload after five minutes, and with the connection.
const forgotten = (e: Failure) => faultOf(e) === "uploadNotFound";

// No answer, an agent that restarts or is full: all of that passes.
const passing = (e: Failure) => typeof e.code === "string" || [-32042, -32043, -32044, -32046].includes(e.code ?? 0) ||
  ["stagingBudgetExceeded", "tooManyUploads"].includes(faultOf(e));

function until(entry: Entry): Promise<void> {
  return new Promise((resolve) => {
    const stop: () => void = entry.fate.subscribe(({ kind }) => {
      if (kind !== "ready" && kind !== "failed" && kind !== "local") return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

// In pieces, since a call takes only so many arguments.
function base64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}

// shrinkPicture makes a picture that is over the limit smaller, step by step.
async function shrinkPicture(file: File): Promise<File> {
  if (!/^image\/(jpeg|png|webp|heic|heif|avif|bmp)$/.test(file.type)) return file;
  const picture = await createImageBitmap(file);
  try {
    for (let side = 4096; side >= 1024; side /= 2) { // screens of today show no more than 4096 across
      const scale = Math.min(1, side / Math.max(picture.width, picture.height));
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(picture.width * scale);
      canvas.height = Math.round(picture.height * scale);
      canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
      const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.9));
      if (blob && blob.size <= maxBytes) return new File([blob], file.name.replace(/\.\w+$/, "") + ".jpg", { type: "image/jpeg" });
    }
  } finally {
    picture.close();
  }
  return file;
}

export const uploads = new Uploads({ live, call: (method, params, o) => link.call(method, params, o) });
