// What a tool would do: its command, its change of a file, or whatever it was given. All of it, nothing twice.

import { commandOf, pathOf } from "../../state/asks";
import { t } from "../../i18n";
import { Diff } from "../rows/Diff";
import { inert } from "../rows/inert";
import { Long } from "./Long";

type Input = Record<string, unknown>;

export function Subject({ input }: { input: unknown }) {
  if (typeof input !== "object" || input === null) return <Plain input={input} />;
  const command = commandOf(input);
  if (command !== undefined) {
    return (
      <>
        <Long text={command} label={t("answer.command")} />
        <Rest input={without(input as Input, (input as Input).command === command ? ["command"] : ["cmd"])} />
      </>
    );
  }
  const edits = editsOf(input as Input);
  return edits ? <Change input={input as Input} edits={edits} /> : <Rest input={input as Input} />;
}

function without(input: Input, keys: string[]): Input {
  return Object.fromEntries(Object.entries(input).filter(([key]) => !keys.includes(key)));
}

interface Edit {
  before: string;
  after: string;
}

// editsOf reads the change of a file, in the two ways that tools ask for it.
function editsOf(input: Input): Edit[] | undefined {
  const list = Array.isArray(input.edits) ? input.edits : [input];
  const edits = list.map((e) => ({ before: e?.old_string, after: e?.new_string }));
  if (!edits.every((e) => typeof e.before === "string" && typeof e.after === "string")) return undefined;
  return edits as Edit[];
}

function Change({ input, edits }: { input: Input; edits: Edit[] }) {
  return (
    <>
      {pathOf(input) && <p class="answer-path">{inert(pathOf(input)!)}</p>}
      {edits.every(comparable) ? <Diff edits={edits} /> : edits.map((e, i) => <Long key={i} text={`${marked("-", e.before)}\n${marked("+", e.after)}`} label={t("answer.input")} />)}
      <Rest input={without(input, ["file_path", "path", "old_string", "new_string", "edits"])} />
    </>
  );
}

// A diff leaves out parts of very long lines and texts. Who decides has to see all.
const LONGEST_LINE = 1000, LONGEST = 400 << 10;
const comparable = (e: Edit) => [e.before, e.after].every((text) => text.length <= LONGEST && text.split("\n").every((line) => line.length <= LONGEST_LINE));

const marked = (sign: string, text: string) => text.replace(/^/gm, `${sign} `);

function Plain({ input }: { input: unknown }) {
  if (input === undefined || input === null) return <p class="answer-size">{t("answer.input.none")}</p>;
  return <Long text={shownAs(input)} label={t("answer.input")} />;
}

// Rest lists what else a tool was given, the short things first.
function Rest({ input }: { input: Input }) {
  const entries = Object.entries(input).map(([key, value]) => [key, shownAs(value)] as const);
  const short = entries.filter(([, text]) => isShort(text));
  return (
    <>
      {short.length > 0 && (
        <dl class="answer-input">
          {short.map(([key, text]) => (
            <div key={key}>
              <dt>{inert(key)}</dt>
              <dd>{inert(text)}</dd>
            </div>
          ))}
        </dl>
      )}
      {entries.filter(([, text]) => !isShort(text)).map(([key, text]) => (
        <div key={key}>
          <h3 class="answer-key">{inert(key)}</h3>
          <Long text={text} label={key} />
        </div>
      ))}
    </>
  );
}

const SHORT = 200; // characters that need no box of their own
const isShort = (text: string) => text.length <= SHORT && !text.includes("\n");

const shownAs = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? String(value)));
