import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { t } from "../../i18n";
import { clip } from "./clip";
import { size } from "./units";

// Cut stands where something was left out and offers more of it.
export function Cut({ characters, onMore }: { characters: number; onMore: () => void }) {
  return <button type="button" class="cut" onClick={onMore}>{t("rows.more", { size: size(characters) })}</button>;
}

interface Clipped {
  text: string;
  head?: number;
  tail?: number;
  children: (part: string) => ComponentChildren;
}

// Long shows the start and the end of a text that may be of any length; each step shows more of its middle.
export function Long({ text, head = 8 << 10, tail = 4 << 10, children }: Clipped) {
  const [shown, show] = useState(head);
  const part = clip(text, shown, tail);
  return (
    <>
      {part.head && children(part.head)}
      {part.cut > 0 && <Cut characters={part.cut} onMore={() => show(shown + (64 << 10))} />}
      {part.tail && children(part.tail)}
    </>
  );
}
