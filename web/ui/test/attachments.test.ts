import { signal } from "@preact/signals";
import { beforeEach, expect, test, vi } from "vitest";
import { maxBytes, Uploads, type Upload } from "../src/state/attachments";
import { CallError } from "./failure";

vi.setConfig({ testTimeout: 60_000 }); // hashing and base64 of 20 MiB take a while on a busy machine
vi.mock("../src/wire/link", () => ({ link: {}, live: signal(false) }));

// An agent that takes uploads as the real one does: each belongs to the connection that began it.
class Agent {
  live = signal(true);
  connection = 1;
  staged = new Map<string, { data: Uint8Array[]; begin: any; ref?: string }>();
  calls: string[] = [];
  before: (method: string, params: any) => void = () => {};

  call = async <T>(method: string, params: any): Promise<T> => {
    const name = method.replace("v4/attachment/", "");
    this.calls.push(name === "chunk" ? "chunk " + params.chunkIndex : name);
    await new Promise((r) => setTimeout(r)); // a connection takes time
    if (!this.live.value) throw new CallError("lost", "the connection broke");
    this.before(name, params);
    if (!this.live.value) throw new CallError("lost", "the connection broke");
    const key = this.connection + params.uploadId;
    let u = this.staged.get(key);
    if (name === "begin" && !u) this.staged.set(key, (u = { data: [], begin: params }));
    if (!u) throw new CallError(-32603, "fault.attachment.uploadNotFound");
    switch (name) {
      case "begin":
        return { uploadId: params.uploadId, state: u.ref ? "committed" : "staging", nextChunkIndex: u.data.length, ref: u.ref } as T;
      case "chunk":
        if (params.chunkIndex === u.data.length) u.data.push(Uint8Array.from(atob(params.dataBase64), (c) => c.charCodeAt(0)));
        return { uploadId: params.uploadId, nextChunkIndex: u.data.length } as T;
      case "commit": {
        const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(u.data as BlobPart[]).arrayBuffer()));
        if ("sha256:" + [...sum].map((b) => b.toString(16).padStart(2, "0")).join("") !== u.begin.checksum) throw new CallError(-32603, "fault.attachment.checksumMismatch");
        u.ref = "zcode-artifact://" + params.sessionId + "/" + params.uploadId;
        return { ref: u.ref } as T;
      }
      default:
        this.staged.delete(key);
        return {} as T;
    }
  };
}

let agent: Agent;
let uploads: Uploads;
beforeEach(() => {
  vi.stubGlobal("URL", Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => {} }));
  agent = new Agent();
  uploads = new Uploads({ live: agent.live, call: agent.call });
});

function file(bytes: number, name = "photo.png", type = "image/png"): File {
  const content = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) content[i] = i % 251; // so that chunks in the wrong order are seen
  return new File([content], name, { type });
}
const fate = (u: Upload, kind: string) => vi.waitFor(() => expect(u.fate.value.kind).toBe(kind), { timeout: 30_000, interval: 5 });
const KiB = 1024;

test("a file goes in pieces, whole, and ends as a reference", async () => {
  const u = uploads.add("s1", "s1", file(300 * KiB));
  await fate(u, "ready");
  expect(agent.calls).toEqual(["begin", "chunk 0", "chunk 1", "chunk 2", "commit"]);
  expect(u.fate.value).toMatchObject({ file: { ref: "zcode-artifact://s1/" + u.id, fileName: "photo.png", mime: "image/png", bytes: 300 * KiB } });
});

test("a file of the largest size keeps to the agent's limits for chunks", async () => {
  let most = 0;
  agent.before = (name, p) => name === "chunk" && (most = Math.max(most, p.dataBase64.length * 0.75));
  const u = uploads.add("s1", "s1", file(maxBytes, "big.bin", "application/octet-stream"));
  await fate(u, "ready");
  expect(agent.calls.filter((c) => c.startsWith("chunk")).length).toBeLessThanOrEqual(64);
  expect(most).toBeLessThanOrEqual(512 * KiB + 2);
});

test("after a cut the upload goes on where the agent stands, on the same connection's ledger", async () => {
  let cut = false;
  agent.before = (name, p) => {
    if (!cut && name === "chunk" && p.chunkIndex === 1) {
      cut = true;
      agent.live.value = false;
    }
  };
  const u = uploads.add("s1", "s1", file(300 * KiB));
  await fate(u, "waiting");
  agent.live.value = true;
  await fate(u, "ready");
  expect(agent.calls).toEqual(["begin", "chunk 0", "chunk 1", "begin", "chunk 1", "chunk 2", "commit"]);
});

test("a connection of another name knows nothing of the upload: it begins anew and arrives whole", async () => {
  let cut = false;
  agent.before = (name, p) => {
    if (!cut && name === "chunk" && p.chunkIndex === 2) {
      cut = true;
      agent.live.value = false;
      agent.connection++;
    }
  };
  const u = uploads.add("s1", "s1", file(300 * KiB));
  await fate(u, "waiting");
  agent.live.value = true;
  await fate(u, "ready");
  expect(agent.calls).toEqual(["begin", "chunk 0", "chunk 1", "chunk 2", "begin", "chunk 0", "chunk 1", "chunk 2", "commit"]);
});

test("an agent that always forgets is not asked for ever", async () => {
  agent.before = (name) => name === "chunk" && agent.staged.clear();
  const u = uploads.add("s1", "s1", file(10));
  await fate(u, "failed");
  expect(u.fate.value).toMatchObject({ code: "uploadNotFound" });
});

test("a refusal ends the upload and can be tried again", async () => {
  agent.before = () => { throw new CallError(-32040, "forbidden"); };
  const u = uploads.add("s1", "s1", file(10));
  await fate(u, "failed");
  expect(u.fate.value).toMatchObject({ code: "-32040" });
  agent.before = () => {};
  uploads.retry(u, "s1");
  await fate(u, "ready");
});

test("too large, or empty, is said without a word to the agent", async () => {
  const large = uploads.add("s1", "s1", file(maxBytes + 1, "x.bin", "application/octet-stream"));
  const empty = uploads.add("s1", "s1", file(0));
  await fate(large, "failed");
  await fate(empty, "failed");
  expect([large.fate.value, empty.fate.value]).toMatchObject([{ code: "tooLarge" }, { code: "empty" }]);
  expect(agent.calls).toEqual([]);
});

test("a picture over the limit is made smaller first", async () => {
  uploads = new Uploads({ live: agent.live, call: agent.call }, async () => file(20, "photo.jpg", "image/jpeg"));
  const u = uploads.add("s1", "s1", file(maxBytes + 1));
  await fate(u, "ready");
  expect(u.fate.value).toMatchObject({ file: { fileName: "photo.jpg", mime: "image/jpeg", bytes: 20 } });
});

test("a removed file is taken back from the agent", async () => {
  let taken: Upload | undefined;
  agent.before = (name, p) => name === "chunk" && p.chunkIndex === 1 && taken && uploads.remove("s1", taken, "s1");
  taken = uploads.add("s1", "s1", file(300 * KiB));
  await vi.waitFor(() => expect(agent.calls).toContain("abort"), { timeout: 5000 });
  expect(uploads.of("s1").value).toEqual([]);
  await new Promise((r) => setTimeout(r, 20));
  expect(agent.calls).toEqual(["begin", "chunk 0", "chunk 1", "abort"]);
});

test("files for a session that is yet to be made wait for it, then go with it", async () => {
  const u = uploads.add("new", null, file(10));
  await fate(u, "local");
  expect(await uploads.bring("new", "s7")).toBe(true);
  expect(u.fate.value).toMatchObject({ file: { ref: "zcode-artifact://s7/" + u.id } });
});
