import { useEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import { Copy } from "./Copy";
import { Long } from "./Cut";
import { grammar, highlight, longest, type Runs } from "./highlight";
import { inert, plain } from "./inert";

interface CodeProps {
  text: string;
  language?: string | undefined; // as the author of the text calls it
  growing?: boolean; // more of it will come: colours wait until it is whole
  whole?: (() => string) | undefined; // of a block that is shown in several parts, at the first
  bare?: boolean; // without a caption
}

// Code is a block of code: coloured when the colours are there, with a caption that copies it.
export function Code({ text, language, growing, whole, bare }: CodeProps) {
  return (
    <figure class="code">
      {!bare && (
        <figcaption>
          <span>{plain((language ?? "").slice(0, 40))}</span>
          <Copy text={whole ?? (() => text)} label={t("rows.copyCode")} />
        </figcaption>
      )}
      <Long text={text.replace(/\n$/, "")} head={longest} tail={2 << 10}>
        {(part) => <Coloured text={part} language={growing ? undefined : grammar(language)} />}
      </Long>
    </figure>
  );
}

// Beyond this many pieces the rest stays plain: it would be a minified file, which nobody reads by its colours.
const maxRuns = 4000;

function Coloured({ text, language }: { text: string; language: string | undefined }) {
  const [runs, colour] = useState<Runs | null>(null);
  useEffect(() => {
    colour(null);
    if (!language) return;
    let gone = false;
    void highlight(text, language).then((found) => gone || colour(found));
    return () => {
      gone = true;
    };
  }, [text, language]);
  return (
    <pre tabIndex={0} dir="ltr">
      <code>{runs && runs.length < maxRuns ? spans(runs) : inert(text)}</code>
    </pre>
  );
}

function spans(runs: Runs) {
  const list = [];
  for (let i = 0; i < runs.length; i += 2) list.push(runs[i] ? <span class={`c-${runs[i]}`}>{inert(runs[i + 1]!)}</span> : inert(runs[i + 1]!));
  return list;
}
