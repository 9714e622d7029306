import { signal, type Signal } from "@preact/signals";

// What somebody has begun to write, one draft for each session and one for each workspace's new session. It is written to the
// store with every change, so that a reload, a cut or a device that is signed out loses nothing.
export interface Draft {
  text: string;
  // Files that the agent has already; their content is not kept here.
  files?: KeptFile[];
}

export interface KeptFile { ref: string; fileName: string; mime: string; bytes: number }

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

const prefix = "hub.draft.";
// More drafts than anybody has on their mind; the oldest goes first.
const maxDrafts = 50;
// Characters. Browsers give a page 5 MB in all, and a longer text belongs into a file.
export const maxDraft = 100_000;

export class Drafts {
  private readonly open = new Map<string, Signal<Draft>>();

  constructor(private readonly store: Store | null) {}

  // The draft of a session, or of whatever key names.
  of(key: string): Signal<Draft> {
    let draft = this.open.get(key);
    if (!draft) {
      draft = signal(this.read(key));
      this.open.set(key, draft);
      let first = true;
      draft.subscribe((d) => (first ? (first = false) : this.write(key, d)));
    }
    return draft;
  }

  // Puts text into a draft without losing what stands there.
  restore(key: string, text: string): void {
    const draft = this.of(key);
    const before = draft.peek();
    if (before.text.trim() !== text.trim()) draft.value = { ...before, text: before.text.trim() ? text + "\n\n" + before.text : text };
  }

  // Takes over what another window wrote; null means that everything was cleared.
  changedElsewhere(storeKey: string | null): void {
    for (const [key, draft] of this.open) {
      if (storeKey !== null && storeKey !== prefix + key) continue;
      const now = this.read(key);
      if (JSON.stringify(now) !== JSON.stringify(draft.peek())) draft.value = now;
    }
  }

  private read(key: string): Draft {
    try {
      const d = JSON.parse(this.store?.getItem(prefix + key) ?? "") as Partial<Draft>;
      return { text: typeof d.text === "string" ? d.text : "", files: Array.isArray(d.files) ? d.files : undefined };
    } catch {
      return { text: "" };
    }
  }

  private write(key: string, d: Draft): void {
    if (!d.text && !d.files?.length) return this.store?.removeItem(prefix + key);
    const entry = JSON.stringify({ ...d, text: d.text.slice(0, maxDraft), at: Date.now() });
    for (const room of [maxDrafts, 5, 0]) {
      try {
        this.prune(room - 1, prefix + key);
        return this.store?.setItem(prefix + key, entry);
      } catch {
        // The store is full: older drafts make room, and if that does not help the draft lives as long as the page.
      }
    }
  }

  // Forgets the oldest drafts, so that at most so many are left beside the one named.
  private prune(room: number, except: string): void {
    const kept: { key: string; at: number }[] = [];
    for (let i = 0; i < (this.store?.length ?? 0); i++) {
      const key = this.store!.key(i);
      if (key?.startsWith(prefix) && key !== except) kept.push({ key, at: writtenAt(this.store!.getItem(key)) });
    }
    kept.sort((a, b) => b.at - a.at);
    for (const { key } of kept.slice(Math.max(0, room))) this.store?.removeItem(key);
  }
}

function writtenAt(text: string | null): number {
  try {
    return Number((JSON.parse(text ?? "") as { at?: number }).at) || 0;
  } catch {
    return 0;
  }
}

// The browser's own store, or none where it is forbidden.
export function browserStore(): Storage | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

export const drafts = new Drafts(browserStore());
if (typeof window === "object") {
  window.addEventListener("storage", (e) => {
    if (e.key === null || e.key.startsWith(prefix)) drafts.changedElsewhere(e.key);
  });
}
