// Text of any length, shown as it is and whole, in a box that scrolls. What is out of sight is laid out once it is scrolled
// to, so that two megabytes do not make a phone stop.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { t } from "../../i18n";
import { inert } from "../rows/inert";
import { size } from "../rows/units";

const PIECE = 16_384; // characters laid out in one go: some screens full, some milliseconds
const STEP = 8; // pieces that are laid out at most when the reader comes to the end of those there are
const FEW = 12; // lines that are seen at once even on a phone: nothing to say about them

export function Long({ text, label }: { text: string; label: string }) {
  const [shown, setShown] = useState(1);
  const pieces = useMemo(() => piecesOf(text), [text]);
  const nodes = useRef<ComponentChildren[]>([]);
  useMemo(() => (nodes.current = []), [text]);
  const rest = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!rest.current) return;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((e) => e.isIntersecting)) setShown((n) => n + Math.min(n, STEP));
    });
    seen.observe(rest.current);
    return () => seen.disconnect();
  }, [shown, pieces]);
  const visible = pieces.slice(0, shown).map((piece, i) => (nodes.current[i] ??= <span key={i}>{inert(piece)}</span>));
  const lines = useMemo(() => text.split("\n").length, [text]);
  const long = lines > FEW || text.length > PIECE;
  return (
    <>
      <pre class="answer-text" tabIndex={0} role="region" aria-label={label} dir="ltr">
        {visible}
        {shown < pieces.length && <span ref={rest}>…</span>}
      </pre>
      {long && <p class="answer-size">{t("answer.all", { lines, size: size(text.length) })}</p>}
    </>
  );
}

// piecesOf cuts after line ends where it can, and never inside a character.
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + PIECE);
    if (to < text.length) {
      const line = text.lastIndexOf("\n", to - 1) + 1;
      if (line > from + PIECE / 2) to = line;
      else if (isLow(text.charCodeAt(to))) to--;
    }
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

const isLow = (c: number) => c >= 0xdc00 && c <= 0xdfff;
