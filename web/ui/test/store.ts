// A store as the browser's, which can be made full.
export class MemoryStore {
  private readonly items = new Map<string, string>();
  constructor(private readonly limit = Infinity) {}
  get length() { return this.items.size; }
  key(i: number) { return [...this.items.keys()][i] ?? null; }
  getItem(key: string) { return this.items.get(key) ?? null; }
  removeItem(key: string) { this.items.delete(key); }
  setItem(key: string, value: string) {
    const rest = [...this.items].reduce((sum, [k, v]) => (k === key ? sum : sum + v.length), 0);
    if (rest + value.length > this.limit) throw new Error("full");
    this.items.delete(key);
    this.items.set(key, value);
  }
}
