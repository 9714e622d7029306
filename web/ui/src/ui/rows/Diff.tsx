import { useEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import type { Line } from "./difference";
import { inert } from "./inert";

// Edit is a change as a tool asks for it, or as its result tells it.
export type Edit = { before: string; after: string } | { unified: string };

// Lines that are shown at first, and that each step adds.
const shownAtFirst = 120;

// Beyond this an edit is not compared: it is the content of a file, not a change that anybody reads.
const longest = 400 << 10;

// Diff shows changes as a unified diff with the words that differ marked.
export function Diff({ edits }: { edits: Edit[] }) {
  const [lines, set] = useState<Line[] | null>(null);
  const [shown, show] = useState(shownAtFirst);
  const key = edits.map((e) => ("unified" in e ? e.unified : `${e.before}\0${e.after}`)).join("\0\0");
  useEffect(() => {
    let gone = false;
    void import("./difference").then((m) => gone || set(compared(m, edits)));
    return () => {
      gone = true;
    };
  }, [key]);
  if (!lines) return <div class="diff" aria-busy="true" />;
  return (
    <div class="diff" dir="ltr">
      {lines.slice(0, shown).map(view)}
      {lines.length > shown && (
        <button type="button" class="cut" onClick={() => show(shown + 1000)}>{t("rows.moreLines", { n: lines.length - shown })}</button>
      )}
    </div>
  );
}

function compared({ difference, parsed }: typeof import("./difference"), edits: Edit[]): Line[] {
  const gap: Line = { kind: "gap", text: "" };
  return edits.flatMap((edit, i) => {
    const texts = "unified" in edit ? [edit.unified] : [edit.before, edit.after];
    const [first, second] = texts.map((text) => text.slice(0, longest));
    const lines = second === undefined ? parsed(first!) : difference(first!, second);
    return [...(i > 0 ? [gap] : []), ...lines, ...(texts.some((text) => text.length > longest) ? [gap] : [])];
  });
}

const signs = { same: " ", added: "+", removed: "−", gap: "⋯" };

// A line longer than this is data; its start says enough.
const longestLine = 1000;

function view(line: Line) {
  const text = line.text.length > longestLine ? `${line.text.slice(0, longestLine)}…` : line.text;
  return (
    <div class={`line ${line.kind}`}>
      <span class="n" aria-hidden="true">{line.after ?? line.before ?? ""}</span>
      <span class="s">{signs[line.kind]}</span>
      <code>{line.words ? line.words.map(([word, changed]) => (changed ? <mark>{inert(word)}</mark> : inert(word))) : inert(text)}</code>
    </div>
  );
}
