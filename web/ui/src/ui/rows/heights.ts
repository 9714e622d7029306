// Where things stand in a list of which only a part is laid out: heights that were measured, estimates for the others,
// and sums of both. A Fenwick tree keeps a change and a look-up at O(log n) for lists of any length.

export class Heights<K> {
  keys: K[] = [];
  private places = new Map<K, number>();
  private known = new Map<K, number>(); // measured
  private heights: number[] = [];
  private tree: Float64Array = new Float64Array(1);

  constructor(private readonly estimate: (key: K) => number) {}

  // set takes the list as it is now. What was measured of a key that stays is kept.
  set(keys: K[]) {
    this.keys = keys;
    this.places = new Map(keys.map((key, i) => [key, i]));
    for (const key of this.known.keys()) if (!this.places.has(key)) this.known.delete(key);
    this.heights = keys.map((key) => this.known.get(key) ?? this.estimate(key));
    const tree = (this.tree = new Float64Array(keys.length + 1));
    for (let i = 1; i <= keys.length; i++) {
      tree[i]! += this.heights[i - 1]!;
      const up = i + (i & -i);
      if (up <= keys.length) tree[up]! += tree[i]!;
    }
  }

  // measured notes the height of a key and tells whether that changed anything.
  measured(key: K, height: number): boolean {
    const i = this.places.get(key);
    if (i === undefined) return false;
    this.known.set(key, height);
    const more = height - this.heights[i]!;
    if (more === 0) return false;
    this.heights[i] = height;
    for (let n = i + 1; n < this.tree.length; n += n & -n) this.tree[n]! += more;
    return true;
  }

  place(key: K): number | undefined {
    return this.places.get(key);
  }

  height(i: number): number {
    return this.heights[i] ?? 0;
  }

  // top is where the item with that index begins; top(keys.length) is the height of all.
  top(i: number): number {
    let sum = 0;
    for (let n = Math.min(i, this.keys.length); n > 0; n -= n & -n) sum += this.tree[n]!;
    return sum;
  }

  get total(): number {
    return this.top(this.keys.length);
  }

  // at is the index of the item that y is in; the first or the last one if y is outside.
  at(y: number): number {
    let i = 0, rest = y;
    let step = 1;
    while (step * 2 < this.tree.length) step *= 2;
    for (; step > 0; step >>= 1) {
      if (i + step < this.tree.length && this.tree[i + step]! <= rest) {
        i += step;
        rest -= this.tree[i]!;
      }
    }
    return Math.max(0, Math.min(i, this.keys.length - 1));
  }
}

// Anchor is the reader's place: an item, and how far above its top the window begins (negative: below).
export interface Anchor<K> {
  key: K;
  offset: number;
}

export function anchorAt<K>(heights: Heights<K>, y: number): Anchor<K> | null {
  if (heights.keys.length === 0) return null;
  const i = heights.at(y);
  return { key: heights.keys[i]!, offset: y - heights.top(i) };
}

export function placeOf<K>(heights: Heights<K>, anchor: Anchor<K>): number | undefined {
  const i = heights.place(anchor.key);
  return i === undefined ? undefined : heights.top(i) + anchor.offset;
}

// moved finds the reader's place in a list that is about to replace another: the same item, or, if it is gone, the
// nearest one before it that stays (its end), or the first after it.
export function moved<K>(before: Heights<K>, anchor: Anchor<K>, stays: (key: K) => boolean): Anchor<K> | null {
  if (stays(anchor.key)) return anchor;
  const from = before.place(anchor.key);
  if (from === undefined) return null;
  for (let i = from - 1; i >= 0; i--) if (stays(before.keys[i]!)) return { key: before.keys[i]!, offset: before.height(i) };
  for (let i = from + 1; i < before.keys.length; i++) if (stays(before.keys[i]!)) return { key: before.keys[i]!, offset: 0 };
  return null;
}
