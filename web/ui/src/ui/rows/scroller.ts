// Keeps the reader's place in a long list of which only the part around the window is laid out.
//
// The list is a spacer, the items in range, and another spacer. The place is an anchor: the item at the top of the
// window and how far it is scrolled into; or the end, while the reader is there. Whatever changes (items come, go or
// grow, the window changes its size), the anchor is put back before the next frame is painted.
//
// While a finger or a wheel scrolls, setting scrollTop would stop its movement on some systems. What the position
// should have moved by is then taken from the upper spacer, as a debt, and settled when the movement has ended.

import { signal } from "@preact/signals";
import { anchorAt, Heights, moved, placeOf, type Anchor } from "./heights";

export interface Range {
  from: number;
  to: number; // exclusive
}

// What is laid out beyond each edge of the window, in windows: a little at once; so much soon, a few items a frame, for a
// quick swipe not to outrun it; and what was laid out stays until it is this far away.
const atOnce = 0.15, soon = 1, far = 1.5;

// So many items more on each side take a slow phone a part of a frame.
const step = 3;

// So close to the end (px) counts as there for somebody who scrolls towards it.
const endZone = 24;

// A movement has ended when nothing was heard of it for so long (ms); momentum sends its events closer than that.
const stillness = 160;

export class Scroller {
  readonly range = signal<Range>({ from: 0, to: 0 }); // what has to be laid out
  readonly atEnd = signal(true);
  readonly first = signal(0); // the index of the first item that is in the window, at least in part
  readonly seen = signal(0); // and of the last

  private el: HTMLElement | null = null;
  private above: HTMLElement | null = null;
  private below: HTMLElement | null = null;
  private laid: Range = { from: 0, to: 0 }; // what is in the document
  private anchor: Anchor<number> | null = null;
  private debt = 0; // the list is drawn so much higher than scrollTop says
  private last = 0; // scrollTop as it was known last
  private moving: ReturnType<typeof setTimeout> | undefined;
  private touched = false;
  private watch: ResizeObserver | null = null;
  private items = new Map<Element, number>();
  private fresh = new Set<Element>(); // laid out, not measured yet
  private frame = 0;

  constructor(private readonly heights: Heights<number>) {}

  attach(el: HTMLElement, above: HTMLElement, below: HTMLElement): () => void {
    [this.el, this.above, this.below] = [el, above, below];
    const watch = (this.watch = new ResizeObserver((entries) => this.resized(entries)));
    watch.observe(el);
    for (const item of this.items.keys()) watch.observe(item);
    const listen = new AbortController();
    const on = (name: string, f: () => void) => el.addEventListener(name, f, { passive: true, signal: listen.signal });
    on("scroll", () => this.scrolled());
    on("scrollend", () => this.settle());
    on("touchstart", () => (this.touched = true));
    on("touchend", () => (this.touched = false));
    on("touchcancel", () => (this.touched = false));
    return () => {
      listen.abort();
      watch.disconnect();
      clearTimeout(this.moving);
      cancelAnimationFrame(this.frame);
      this.el = this.watch = null;
    };
  }

  // observe measures an item as long as it is laid out.
  observe(element: Element, key: number): () => void {
    this.items.set(element, key);
    this.fresh.add(element);
    this.watch?.observe(element);
    return () => {
      this.items.delete(element);
      this.fresh.delete(element);
      this.watch?.unobserve(element);
    };
  }

  // list takes new items. What is to be laid out then follows in range.
  list(keys: number[]): void {
    const stay = new Set(keys);
    this.anchor = this.anchor && moved(this.heights, this.anchor, (key) => stay.has(key));
    if (!this.anchor) this.atEnd.value = true; // nothing of what was read is left
    const { from, to } = this.range.peek(); // goes with its items
    const first = this.heights.keys[from];
    this.heights.set(keys);
    const at = first === undefined ? undefined : this.heights.place(first);
    if (at !== undefined && at !== from) this.range.value = { from: at, to: Math.min(at + to - from, keys.length) };
    this.lay();
  }

  // laidOut is to be called whenever the document has what was in range, before it is painted.
  laidOut(range: Range): void {
    this.laid = range;
    for (const element of this.fresh) this.heights.measured(this.items.get(element)!, element.getBoundingClientRect().height);
    this.fresh.clear();
    this.place();
  }

  // show brings an item into the window, a little below its top.
  show(index: number): void {
    const key = this.heights.keys[index];
    if (key === undefined) return;
    this.atEnd.value = false;
    this.anchor = { key, offset: -48 };
    this.lay();
    this.place();
  }

  toEnd(): void {
    this.atEnd.value = true;
    this.lay();
    this.place();
  }

  // place puts the document where the anchor is.
  private place(): void {
    if (!this.el || !this.above || !this.below) return;
    const start = this.heights.top(this.laid.from);
    const wanted = this.wanted();
    const top = this.el.scrollTop;
    const held = this.moving !== undefined && top > 0 && start > wanted - top;
    this.debt = held && wanted !== Infinity ? wanted - top : 0;
    pad(this.above, start - this.debt);
    pad(this.below, this.heights.total - this.heights.top(this.laid.to));
    if (this.debt === 0) this.put(wanted);
    this.look();
  }

  private wanted(): number {
    if (this.atEnd.peek() || !this.anchor) return Infinity;
    return placeOf(this.heights, this.anchor) ?? Infinity;
  }

  private put(top: number): void {
    const el = this.el!;
    if (top === Infinity) el.scrollTop = el.scrollHeight;
    else if (Math.abs(el.scrollTop - top) >= 1) el.scrollTop = top;
    this.last = el.scrollTop;
  }

  private scrolled(): void {
    const el = this.el!;
    const top = el.scrollTop;
    if (Math.abs(top - this.last) < 1) return; // that was put
    const left = el.scrollHeight - el.clientHeight - top;
    this.atEnd.value = left < 1 || (top > this.last && (this.atEnd.peek() || left <= endZone));
    this.last = top;
    this.anchor = anchorAt(this.heights, top + this.debt);
    clearTimeout(this.moving);
    this.moving = setTimeout(() => this.settle(), stillness);
    this.lay();
    if (this.debt !== 0 && (top <= 0 || top + this.debt < 0)) this.settle();
    this.look();
  }

  private settle(): void {
    clearTimeout(this.moving);
    this.moving = this.touched ? setTimeout(() => this.settle(), stillness) : undefined;
    if (!this.touched && this.debt !== 0) this.place();
  }

  // resized runs after layout and before painting: what it puts right was never seen wrong. What else has to be laid out
  // then may wait for the next frame, there is enough beyond the edges.
  private resized(entries: ResizeObserverEntry[]): void {
    let changed = false;
    for (const entry of entries) {
      const key = this.items.get(entry.target);
      const height = entry.borderBoxSize[0]?.blockSize ?? 0;
      if (entry.target === this.el) changed = true;
      else if (key !== undefined && height > 0) changed = this.heights.measured(key, height) || changed;
    }
    if (!changed) return;
    this.place();
    this.soon();
  }

  // lay finds what has to be laid out now, and comes back with the next frame while more is to follow.
  private lay(): void {
    const { heights } = this;
    const count = heights.keys.length;
    const size = this.el?.clientHeight || 800; // before the first layout: more than most windows have
    const top = Math.min(this.wanted(), Math.max(heights.total - size, 0));
    const around = (windows: number): Range => ({ from: heights.at(top - size * windows), to: Math.min(heights.at(top + size * (1 + windows)) + 1, count) });
    const now = this.range.peek(), need = around(atOnce), goal = around(soon), most = around(far);
    const joins = now.from < need.to && now.to > need.from;
    const from = joins ? Math.max(Math.min(now.from, Math.max(goal.from, now.from - step)), most.from) : need.from;
    const to = joins ? Math.min(Math.max(now.to, Math.min(goal.to, now.to + step)), most.to) : need.to;
    const next = { from: Math.min(from, need.from), to: Math.max(to, need.to) };
    if (next.from !== now.from || next.to !== now.to) this.range.value = next;
    if (next.from > goal.from || next.to < goal.to) this.soon();
  }

  private soon(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.lay();
    });
  }

  private look(): void {
    const top = this.el!.scrollTop + this.debt;
    this.first.value = this.heights.at(top);
    this.seen.value = this.heights.at(top + this.el!.clientHeight - 1);
  }
}

function pad(element: HTMLElement, height: number) {
  const wanted = `${Math.max(0, height)}px`;
  if (element.style.height !== wanted) element.style.height = wanted;
}
