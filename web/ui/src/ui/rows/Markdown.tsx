// What the agent writes. Tokens become elements, never HTML: nothing in the text can act, load or lead astray.

import { Component, type ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { Blocks, warmUp, type Block, type Token, type Tokens } from "./blocks";
import { Code } from "./Code";
import { Cut } from "./Cut";
import { decoded } from "./entities";
import { inert } from "./inert";
import { says, target } from "./links";

warmUp(typeof requestIdleCallback === "undefined" ? (f) => setTimeout(f, 50) : (f) => requestIdleCallback(f));

// Of a longer text the start and the end are shown at first, and each step shows this much more.
const shownAtFirst = 64 << 10;
const shownAtEnd = 16 << 10;

export function Markdown({ text }: { text: string }) {
  const [shown, show] = useState(shownAtFirst);
  const head = useRef<Blocks | undefined>(undefined), tail = useRef<Blocks | undefined>(undefined);
  head.current ??= new Blocks();
  if (text.length <= shown + 2 * shownAtEnd) return <div class="md">{views(head.current.update(text))}</div>;
  tail.current ??= new Blocks();
  const [to, from] = middle(text, shown);
  return (
    <div class="md">
      {views(head.current.update(text.slice(0, to)))}
      <Cut characters={from - to} onMore={() => show(shown + 2 * shownAtFirst)} />
      {views(tail.current.update(text.slice(from)), "end")}
    </div>
  );
}

// middle is the part that is left out. While the text grows its end moves in steps, so that what is shown stays itself.
function middle(text: string, shown: number): [number, number] {
  const at = (i: number) => {
    const gap = text.indexOf("\n\n", i);
    if (gap >= 0 && gap < i + shownAtEnd / 2) return gap + 2;
    const space = text.slice(i, i + shownAtEnd / 2).search(/\s/);
    return space >= 0 ? i + space + 1 : i;
  };
  return [at(shown), at(Math.floor((text.length - shownAtEnd) / shownAtEnd) * shownAtEnd)];
}

const views = (blocks: Block[], part = "") => blocks.map((block, i) => <BlockView key={part + i} block={block} code={block.token.type === "code" && !block.carry ? whole(blocks, i) : undefined} />);

// whole gives the code of a block that may have been cut into several.
function whole(blocks: Block[], i: number): () => string {
  return () => {
    let text = (blocks[i]!.token as Tokens.Code).text;
    for (let n = i + 1; blocks[n]?.carry; n++) text += `\n${(blocks[n]!.token as Tokens.Code).text}`;
    return text;
  };
}

class BlockView extends Component<{ block: Block; code: (() => string) | undefined }> {
  override shouldComponentUpdate(next: { block: Block }) {
    return next.block !== this.props.block;
  }
  override render() {
    const { block, code } = this.props;
    if (block.token.type !== "code") return element(block.token);
    const { text, lang } = block.token as Tokens.Code;
    return <Code text={text} language={lang} growing={block.open} whole={code} />;
  }
}

function element(token: Token): ComponentChildren {
  switch (token.type) {
    case "paragraph":
      return <p dir="auto">{inline(token.tokens)}</p>;
    case "heading":
      return <h3 class={`h${token.depth}`} dir="auto">{inline(token.tokens)}</h3>; // one level: the page's own outline stays whole
    case "list":
      return list(token as Tokens.List);
    case "blockquote":
      return <blockquote>{token.tokens!.map(element)}</blockquote>;
    case "table":
      return table(token as Tokens.Table);
    case "code":
      return <Code text={token.text} language={token.lang} />;
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    case "html":
      return <p class="raw" dir="auto">{inert(token.raw.trimEnd())}</p>;
    case "text":
      return <p dir="auto">{token.tokens ? inline(token.tokens) : inert(decoded(token.text))}</p>;
    default:
      return inlineElement(token);
  }
}

function list({ ordered, start, items }: Tokens.List) {
  const children = items.map((item) => (
    <li class={item.task ? "task" : undefined} dir="auto">
      {item.tokens.map((token) => (token.type === "text" || (token.type === "paragraph" && !item.loose) ? inline(token.tokens ?? [token]) : element(token)))}
    </li>
  ));
  return ordered ? <ol start={start || 1}>{children}</ol> : <ul>{children}</ul>;
}

function table({ header, rows, align }: Tokens.Table) {
  const cell = (Tag: "th" | "td") => (c: Tokens.TableCell, i: number) => <Tag class={align[i] ?? undefined} dir="auto">{inline(c.tokens)}</Tag>;
  return (
    <div class="table" tabIndex={0} role="group">
      <table>
        <thead><tr>{header.map(cell("th"))}</tr></thead>
        <tbody>{rows.map((row) => <tr>{row.map(cell("td"))}</tr>)}</tbody>
      </table>
    </div>
  );
}

const inline = (tokens: Token[] = []): ComponentChildren => tokens.map(inlineElement);

function inlineElement(token: Token): ComponentChildren {
  switch (token.type) {
    case "text":
      return token.tokens ? inline(token.tokens) : inert(decoded(token.text));
    case "escape":
      return inert(token.text);
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{inert(token.text)}</code>;
    case "br":
      return <br />;
    case "checkbox":
      return (token as Tokens.Checkbox).checked ? "☑ " : "☐ ";
    case "link":
      return link(token as Tokens.Link);
    case "image": // nothing is loaded from anywhere
      return <>[{t("rows.picture")}] {link({ ...(token as Tokens.Image), type: "link", tokens: [{ type: "text", raw: token.text, text: token.text }] })}</>;
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? <br /> : inert(token.raw);
    default:
      return inert(token.raw);
  }
}

function link({ href, tokens }: Tokens.Link) {
  const to = decoded(href);
  const text = wordsOf(tokens);
  const found = target(to);
  if (!found) return <>{inline(tokens)}{text.trim() !== to.trim() && <> (<code>{inert(to.slice(0, 500))}</code>)</>}</>;
  return (
    <>
      <a href={found.href} target="_blank" rel="noopener noreferrer nofollow">{text.trim() ? inline(tokens) : found.host}</a>
      {text.trim() && !says(text, found) && <span class="host"> ({inert(found.host)})</span>}
    </>
  );
}

// wordsOf is the text that a person sees of some tokens.
const wordsOf = (tokens: Token[]): string => tokens.map((token) => ("tokens" in token && token.tokens ? wordsOf(token.tokens) : decoded("text" in token ? token.text : token.raw))).join("");
