import { expect, test } from "vitest";
import { Drafts, maxDraft } from "../src/state/drafts";
import { MemoryStore } from "./store";

test("a draft survives a reload, files and all", () => {
  const store = new MemoryStore();
  const file = { ref: "zcode-artifact://s/1", fileName: "a.png", mime: "image/png", bytes: 3 };
  new Drafts(store).of("s1").value = { text: "half a thou", files: [file] };
  expect(new Drafts(store).of("s1").value).toEqual({ text: "half a thou", files: [file] });
  expect(new Drafts(store).of("s2").value.text).toBe("");
});

test("an emptied draft leaves nothing behind", () => {
  const store = new MemoryStore();
  const draft = new Drafts(store).of("s1");
  draft.value = { text: "x" };
  draft.value = { text: "" };
  expect(store.length).toBe(0);
});

test("drafts are bounded in number, and the oldest goes first", () => {
  const store = new MemoryStore();
  store.setItem("hub.draft.old", JSON.stringify({ text: "old", at: 1 }));
  store.setItem("other", "stays");
  const drafts = new Drafts(store);
  for (let i = 0; i < 50; i++) drafts.of("s" + i).value = { text: "text " + i };
  expect(store.length).toBe(51);
  expect(new Drafts(store).of("old").value.text).toBe("");
  expect(new Drafts(store).of("s49").value.text).toBe("text 49");
  expect(store.getItem("other")).toBe("stays");
});

test("a full store gives the oldest drafts for the new one", () => {
  const store = new MemoryStore(2000);
  const drafts = new Drafts(store);
  for (let i = 0; i < 20; i++) drafts.of("s" + i).value = { text: "x".repeat(200) };
  expect(new Drafts(store).of("s19").value.text).toHaveLength(200);
});

test("a draft is bounded in length in the store only", () => {
  const store = new MemoryStore();
  const draft = new Drafts(store).of("s1");
  draft.value = { text: "x".repeat(maxDraft + 5) };
  expect(draft.value.text).toHaveLength(maxDraft + 5);
  expect(new Drafts(store).of("s1").value.text).toHaveLength(maxDraft);
});

test("text that comes back is put before what has been typed since, once", () => {
  const drafts = new Drafts(new MemoryStore());
  drafts.of("s1").value = { text: "newer" };
  drafts.restore("s1", "came back");
  expect(drafts.of("s1").value.text).toBe("came back\n\nnewer");
  drafts.of("s2").value = { text: "same " };
  drafts.restore("s2", "same");
  expect(drafts.of("s2").value.text).toBe("same ");
});

test("what another window writes is taken over", () => {
  const store = new MemoryStore();
  const here = new Drafts(store);
  const elsewhere = new Drafts(store);
  const draft = here.of("s1");
  elsewhere.of("s1").value = { text: "from there" };
  here.changedElsewhere("hub.draft.s1");
  expect(draft.value.text).toBe("from there");
});

test("rubbish in the store is an empty draft, and no store at all works", () => {
  const store = new MemoryStore();
  store.setItem("hub.draft.s1", "{");
  expect(new Drafts(store).of("s1").value.text).toBe("");
  const none = new Drafts(null).of("s1");
  none.value = { text: "x" };
  expect(none.value.text).toBe("x");
});
