// What belongs to one transcript on the screen: its list, its place, and what the reader has folded and opened.

import { computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Conversation } from "../../state/conversation";
import type { Row } from "../../wire/types";
import { onFrame } from "./frames";
import { Heights } from "./heights";
import { arrange, type Item } from "./items";
import { Scroller } from "./scroller";

// Guesses of heights (px) until a row was laid out. They decide how long the scroll bar seems, nothing else.
const guesses: Record<Row["kind"], number> = {
  turnHeader: 44, userInput: 90, assistantText: 140, reasoning: 44, toolCall: 44, artifact: 64, subagent: 72, hookInvocation: 36, timelineMarker: 36,
};

// Who reads at the end needs what is near it. So many rows stay loaded then, and more go only when there are twice as many.
const kept = 600;

export class View {
  readonly items = signal<Item[]>([]);
  readonly scroller: Scroller;
  readonly news: ReadonlySignal<number>; // items that came below the window since the reader left the end
  readonly question: ReadonlySignal<"up" | "down" | null>; // where the oldest question is that waits outside of the window

  private readonly opened = signal<ReadonlyMap<number, boolean>>(new Map()); // by key of the item
  private readonly turns = signal<ReadonlyMap<string, boolean>>(new Map()); // steps of a turn, all at once
  private readonly watched = new Set<string>(); // turns that ran before the reader's eyes stay as they are while read
  private readonly heights: Heights<number>;
  private readonly leftAt = signal(0); // number of the last row when the reader left the end
  private readonly stops: (() => void)[] = [];
  private placed = false;

  constructor(readonly conversation: Conversation) {
    this.heights = new Heights((key) => (key < 0 ? 44 : guesses[conversation.row(key).peek().kind] ?? 44));
    this.scroller = new Scroller(this.heights);
    this.news = computed(() => {
      if (this.scroller.atEnd.value) return 0;
      const items = this.items.value;
      let n = 0;
      for (let i = items.length - 1; i > this.scroller.seen.value && items[i]!.rows[0]! > this.leftAt.value; i--) n++;
      return n;
    });
    this.question = computed(() => {
      const rowId = conversation.head.value?.pendingInteractions.find((i) => i.anchorRowId !== null)?.anchorRowId;
      const i = rowId == null ? undefined : (void this.items.value, this.heights.place(rowId));
      if (i === undefined) return null;
      return i > this.scroller.seen.value ? "down" : i < this.scroller.first.value ? "up" : null;
    });
    const running = computed(() => conversation.head.value?.control.phase === "running");
    this.stops.push(
      effect(() => {
        if (this.scroller.atEnd.value && conversation.rowIds.value.length > 2 * kept) conversation.forgetOlder(kept);
      }),
      effect(() => {
        void [conversation.rowIds.value, running.value, this.opened.value, this.turns.value];
        // The first rows are there at once; whatever comes then comes with the next frame.
        if (this.placed) onFrame(this.arrange);
        else this.arrange();
      }),
      effect(() => {
        if (!this.scroller.atEnd.value) this.leftAt.value = conversation.rowIds.peek().at(-1) ?? 0;
      }),
    );
  }

  dispose() {
    for (const stop of this.stops) stop();
  }

  isOpen(key: number, otherwise: boolean): boolean {
    return this.opened.value.get(key) ?? otherwise;
  }

  open(key: number, is: boolean) {
    this.opened.value = new Map(this.opened.value).set(key, is);
  }

  foldOpen(key: number, turnId: string): boolean {
    return this.opened.value.get(key) ?? this.turns.value.get(turnId) ?? false;
  }

  // hasFolds tells whether steps of a turn are, or could be, folded away; the row is its header.
  hasFolds(rowId: number): boolean {
    const items = this.items.value;
    const turnId = this.row(rowId).turnId;
    for (let i = (this.heights.place(rowId) ?? items.length) + 1; i < items.length && this.row(items[i]!.rows[0]!).turnId === turnId; i++) if (items[i]!.key < 0) return true;
    return false;
  }

  // stepsOpen tells whether all steps of a turn are shown; undefined if the reader has not said.
  stepsOpen(turnId: string): boolean | undefined {
    return this.turns.value.get(turnId);
  }

  openSteps(turnId: string, is: boolean) {
    const opened = new Map(this.opened.value);
    for (const { key, rows } of this.items.peek()) if (this.row(rows[0]!).turnId === turnId) opened.delete(key);
    this.opened.value = opened;
    this.turns.value = new Map(this.turns.value).set(turnId, is);
  }

  // jump brings a row into the window; it may be folded away.
  jump(rowId: number) {
    const items = this.items.peek();
    let i = items.findIndex((item) => item.key > 0 && item.key === rowId);
    if (i < 0) i = items.findIndex((item) => item.rows.includes(rowId));
    if (i >= 0) this.scroller.show(i);
  }

  private row = (id: number): Row => this.conversation.row(id).peek();

  private readonly arrange = () => {
    const { conversation, scroller } = this;
    const ids = conversation.rowIds.peek();
    const lastTurn = ids.length > 0 ? this.row(ids.at(-1)!).turnId : "";
    const running = conversation.head.peek()?.control.phase === "running";
    if (running && !this.watched.has(lastTurn)) {
      if (scroller.atEnd.peek()) this.watched.clear();
      this.watched.add(lastTurn);
    }
    const folds = (turnId: string) => !(running && turnId === lastTurn) && !this.watched.has(turnId);
    const items = arrange(ids, this.row, folds, (key, turnId) => untracked(() => this.foldOpen(key, turnId)));
    this.placed ||= items.length > 0;
    scroller.list(items.map((item) => item.key));
    this.items.value = items;
  };
}

export const ViewContext = createContext<View>(null as never);
export const useView = () => useContext(ViewContext);
