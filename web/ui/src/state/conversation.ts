// What is known of one session: its head, and its rows, each with a signal of its own.

import { batch, computed, effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import { link, live } from "../wire/link";
import { followTopic, type Topic, type TopicStore } from "../wire/topics";
import type { Base, Delta, Frame, Head, Row, Snapshot } from "../wire/types";
import { pace } from "./bandwidth";
import { session } from "./sessions";

export interface Conversation {
  id: string;
  state: Signal<"loading" | "live" | "stale" | "gone">;
  head: Signal<Head | null>; // the snapshot without its rows
  rowIds: Signal<number[]>; // ascending; changes only when rows come or go
  row(id: number): Signal<Row>; // one signal for each row: a delta renders one row anew
  totalCount: Signal<number>;
  hasOlder: ReadonlySignal<boolean>;
  loadOlder(): Promise<void>;
  forgetOlder(keep: number): void;
  seq(): number; // where the stream stands, to tell how much was missed
  reloads: Signal<number>; // how often the state came anew instead of going on from where it was
}

const MOST_OLDER = 200; // rows of one answer, as the protocol allows
const GLANCE = 15_000; // ms; between two looks at a turn of which only the result is wanted
const LOOK = 1_000; // ms; how long such a look takes: what was missed comes in one frame
const KEEP = 5 * 60_000; // ms; as long as the hub keeps a topic that nobody follows
const KEEP_MOST = 4; // conversations that nobody looks at; going back to one costs a frame then

interface Open {
  store: Store;
  users: number;
  closing?: ReturnType<typeof setTimeout>;
}

const open = new Map<string, Open>();

// follow keeps a session up to date until unfollow was called as often. One that was left a moment ago is still there,
// and goes on from its cursor.
export function follow(sessionId: string): Conversation {
  let known = open.get(sessionId);
  if (!known) open.set(sessionId, (known = { store: new Store(sessionId), users: 0 }));
  if (known.users++ === 0) {
    clearTimeout(known.closing);
    known.store.enter();
  }
  return known.store;
}

export function unfollow(sessionId: string): void {
  const known = open.get(sessionId);
  if (!known || --known.users > 0) return;
  known.store.leave();
  known.closing = setTimeout(() => open.delete(sessionId), KEEP);
  open.delete(sessionId);
  open.set(sessionId, known); // the order is that of leaving
  const idle = [...open].filter(([, o]) => o.users === 0);
  for (const [id, o] of idle.slice(0, Math.max(0, idle.length - KEEP_MOST))) {
    clearTimeout(o.closing);
    open.delete(id);
  }
}

class Store implements Conversation, TopicStore {
  readonly state = signal<"loading" | "live" | "stale" | "gone">("loading");
  readonly head = signal<Head | null>(null);
  readonly rowIds = signal<number[]>([]);
  readonly totalCount = signal(0);
  readonly reloads = signal(0);
  readonly hasOlder = computed(() => {
    const first = this.rowIds.value[0];
    return first !== undefined && this.firstRowId.value !== null && first > this.firstRowId.value;
  });

  private readonly firstRowId = signal<number | null>(null);
  private readonly rows = new Map<number, Signal<Row>>();
  private readonly readAt = new Map<number, number>(); // rows from rowsRange that are ahead of the stream, and how far
  private topic: Topic | null = null;
  private base: Base | null = null;
  private loading: Promise<void> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stop: () => void = () => {};
  private readonly looked = signal(0);

  constructor(readonly id: string) {}

  enter(): void {
    if (this.state.value !== "loading") this.state.value = "stale";
    this.attend();
    this.stop = this.watch();
  }

  leave(): void {
    this.stop();
    this.rest();
    clearTimeout(this.timer);
    if (this.state.value === "live") this.state.value = "stale";
  }

  private attend(): void {
    clearTimeout(this.timer);
    this.topic ??= followTopic(`conversation/${this.id}`, this, this.base);
  }

  private rest(): void {
    this.base = this.topic?.base ?? this.base;
    this.topic?.leave();
    this.topic = null;
  }

  // watch lets go of a running turn while only results are wanted, and looks again now and then, and when the list of
  // sessions tells of its end or of a question.
  private watch(): () => void {
    return effect(() => {
      const summary = session(this.id);
      const head = this.head.value;
      const quiet = pace.value.pace === "results" && live.value && head?.control.phase === "running" && !head.pendingInteractions.length
        && summary?.phase === "running" && !summary.pendingInteraction;
      this.looked.value;
      untracked(() => {
        if (!live.value && this.state.value === "live") this.state.value = "stale"; // also of one that rests
        if (!quiet) this.attend();
        else if (this.topic && this.state.value === "live") {
          clearTimeout(this.timer);
          this.timer = setTimeout(() => {
            this.rest();
            this.timer = setTimeout(() => this.attend(), GLANCE);
          }, LOOK);
        }
      });
    });
  }

  seq(): number {
    return (this.topic?.base ?? this.base)?.seq ?? 0;
  }

  row(id: number): Signal<Row> {
    return this.rows.get(id) ?? signal(nothing(id));
  }

  // ---- what the topic tells

  current(is: boolean): void {
    if (is) {
      this.state.value = "live";
      this.looked.value++;
    }
    else if (this.state.value === "live") this.state.value = "stale";
  }

  lost(): void {
    this.state.value = "gone";
  }

  snapshot({ rows, ...head }: Snapshot, before: Base | null): void {
    batch(() => {
      if (before) this.reloads.value++;
      const kept = before?.logEpoch === head.logEpoch ? this.olderThan(rows.window, rows.totalCount) : [];
      this.readAt.clear();
      const stay = new Set(kept);
      for (const id of this.rows.keys()) if (!stay.has(id)) this.rows.delete(id);
      for (const row of rows.window) this.rows.set(row.rowId, signal(row));
      this.rowIds.value = [...kept, ...rows.window.map((r) => r.rowId)];
      this.totalCount.value = rows.totalCount;
      this.firstRowId.value = rows.firstRowId;
      this.head.value = head;
      if (kept.length) void this.refresh(kept);
    });
  }

  // olderThan gives the loaded rows that go on seamlessly into a new window: the reader's place is among them.
  private olderThan(window: Row[], totalCount: number): number[] {
    const first = window[0]?.rowId;
    if (first === undefined || !this.rows.has(first)) return [];
    const older = this.rowIds.value.filter((id) => id < first);
    return older.length + window.length <= totalCount ? older : [];
  }

  // refresh reads kept rows again, newest first: they may have changed while nobody told.
  private async refresh(ids: number[]): Promise<void> {
    const epoch = this.head.value?.logEpoch;
    for (let end = ids.length; end > 0 && this.head.value?.logEpoch === epoch; end -= MOST_OLDER) {
      const got = await this.range(ids[end - 1]! + 1, Math.min(MOST_OLDER, end)).catch(() => null);
      if (!got) return;
      batch(() => got.rows.forEach((row) => this.rows.has(row.rowId) && this.replace(row)));
    }
  }

  deltas(deltas: Delta[], frame: Frame): void {
    const came: number[] = [];
    let ids = this.rowIds.value, total = this.totalCount.value, changed = false;
    const patches: Partial<Head> = {};
    for (const d of deltas) {
      switch (d.op) {
        case "row.appended":
          if (this.rows.has(d.row.rowId)) {
            this.replace(d.row);
            break;
          }
          this.rows.set(d.row.rowId, signal(d.row));
          came.push(d.row.rowId);
          total++;
          this.firstRowId.value ??= d.row.rowId;
          break;
        case "row.upserted":
          if (this.rows.has(d.row.rowId)) this.replace(d.row);
          break;
        case "row.removed": {
          const loaded = [...ids, ...came.splice(0)];
          ids = loaded.filter((id) => id < d.fromRowId);
          for (const id of loaded) if (id >= d.fromRowId) this.rows.delete(id);
          changed = true;
          if (this.firstRowId.value !== null && d.fromRowId <= this.firstRowId.value) {
            total = 0;
            this.firstRowId.value = null;
          } else {
            total -= loaded.length - ids.length;
            if (!ids.length) this.topic?.resync(true); // what is left was not loaded
          }
          break;
        }
        case "row.delta":
          if ((this.readAt.get(d.rowId) ?? 0) <= frame.fromSeq) this.append(d.rowId, d.path, d.append);
          break;
        case "state.updated":
          Object.assign(patches, d.patch);
          break;
        // Operations of newer app-servers say nothing about what is shown here.
      }
    }
    if (changed || came.length) this.rowIds.value = came.length ? [...ids, ...came] : ids;
    this.totalCount.value = total;
    const head = this.head.value;
    if (head && Object.keys(patches).length) this.head.value = { ...head, ...patches, seq: frame.toSeq };
  }

  private replace(row: Row): void {
    this.readAt.delete(row.rowId);
    this.rows.get(row.rowId)!.value = row;
  }

  // append adds to a text of a row; the row is a new object, its long text is not copied.
  private append(rowId: number, path: string, text: string): void {
    const cell = this.rows.get(rowId);
    if (!cell) return;
    const row = cell.value as any;
    if (path === "output.text") {
      if (typeof row.output?.text === "string") cell.value = { ...row, output: { ...row.output, text: row.output.text + text } };
    } else if (APPENDED[row.kind]?.includes(path)) cell.value = { ...row, [path]: row[path] + text };
  }

  // ---- older rows

  loadOlder(): Promise<void> {
    return (this.loading ??= this.older().finally(() => (this.loading = null)));
  }

  // forgetOlder lets go of all rows but the newest; loadOlder brings them back.
  forgetOlder(keep: number): void {
    const ids = this.rowIds.value;
    if (ids.length <= keep) return;
    for (const id of ids.slice(0, -keep)) {
      this.rows.delete(id);
      this.readAt.delete(id);
    }
    this.rowIds.value = ids.slice(-keep);
  }

  private async older(): Promise<void> {
    const first = this.rowIds.value[0];
    if (first === undefined || !this.hasOlder.value) return;
    const got = await this.range(first, MOST_OLDER);
    if (!got || this.rowIds.value[0] !== first) return; // the rows began anew meanwhile
    batch(() => {
      const rows = got.rows.filter((row) => row.rowId < first);
      for (const row of rows) {
        this.rows.set(row.rowId, signal(row));
        if (got.atSeq > this.seq()) this.readAt.set(row.rowId, got.atSeq);
      }
      this.rowIds.value = [...rows.map((row) => row.rowId), ...this.rowIds.value];
      if (!got.hasMore) this.firstRowId.value = this.rowIds.value[0] ?? null;
    });
  }

  // range reads rows before one; null if the answer is about another run of the session.
  private async range(beforeRowId: number, limit: number): Promise<{ rows: Row[]; atSeq: number; hasMore: boolean } | null> {
    const got = await link.call<{ rows: Row[]; atSeq: number; atLogEpoch: string; hasMore: boolean }>(
      "v4/conversation/rowsRange", { sessionId: this.id, beforeRowId, limit });
    return got.atLogEpoch === this.head.value?.logEpoch ? got : null;
  }
}

// The texts that grow, by kind of row.
const APPENDED: Record<string, string[]> = {
  assistantText: ["text"],
  reasoning: ["text"],
  toolCall: ["inputText"],
  subagent: ["summaryText"],
};

// nothing stands for a row that has just gone, for whoever still draws it.
function nothing(rowId: number): Row {
  return { rowId, turnId: "", entityId: "", productTurnId: "", visibility: "hidden", createdAt: 0, createdAtSeq: 0, kind: "timelineMarker", lane: "", marker: { type: "" } };
}
