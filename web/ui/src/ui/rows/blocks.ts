// Markdown, cut into blocks that are read one after the other. Text that grows is read again only from the start of its
// last block, and no block is longer than blockLimit, so that every step costs about the same however long the text is.

import { Lexer, type Token } from "marked";

export type { Token, Tokens } from "marked";

export interface Block {
  token: Token;
  start: number; // in the text
  carry: string; // what is put before it to read it: the opening of a code block that was cut
  open: boolean; // a code block whose end has not come yet
}

// A paragraph or a code block beyond this is cut into several. Long enough for nearly all that people and models write,
// short enough to be read and laid out within a frame on a slow phone.
export const blockLimit = 12 << 10;

// Deeper nesting is shown as it was written.
const maxDepth = 10;

// The lexer's rules take quadratic time for text that is made of marks only, or of one endless word: such text is not read.
const maxMarks = 300;
const marks = /[*_~`[<!@|&\\]/g;
const endless = /\S{2000}/;

class BoundedLexer extends Lexer {
  private depth = 0;

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (endless.test(src) || (src.match(marks)?.length ?? 0) > maxMarks) return this.unread(src, tokens);
    return super.inlineTokens(src, tokens);
  }

  override blockTokens(src: string, tokens: any = [], lastParagraphClipped?: boolean): any {
    if (this.depth >= maxDepth) return this.unread(src, tokens);
    this.depth++;
    try {
      return super.blockTokens(src, tokens, lastParagraphClipped);
    } finally {
      this.depth--;
    }
  }

  private unread(src: string, tokens: Token[]): Token[] {
    tokens.push({ type: "text", raw: src, text: src, escaped: false });
    return tokens;
  }
}

function lex(text: string): Token[] {
  try {
    return new BoundedLexer({ gfm: true }).lex(text);
  } catch {
    return [{ type: "paragraph", raw: text, text, tokens: [{ type: "text", raw: text, text }] }];
  }
}

// Blocks holds the blocks of one text as it grows.
export class Blocks {
  list: Block[] = [];
  private text = "";

  // update takes the whole text as it is now; blocks that did not change stay the same objects.
  update(text: string): Block[] {
    if (text.includes("\r")) text = text.replaceAll("\r\n", "\n"); // the lexer would, and its lengths would not fit
    if (text === this.text) return this.list;
    const last = this.list.at(-1);
    const grown = last !== undefined && text.startsWith(this.text);
    this.text = text;
    this.list = grown ? this.list.slice(0, -1) : [];
    if (grown) this.read(last.start, last.carry);
    else this.read(0, "");
    return this.list;
  }

  private read(start: number, carry: string) {
    for (;;) {
      const end = cut(this.text, start);
      const more = end < this.text.length;
      const tokens = lex(carry + this.text.slice(start, end));
      const solid = tokens.flatMap((token, i) => (token.type === "space" ? [] : [i]));
      const last = more && solid.length > 1 ? solid.at(-1)! : tokens.length; // the last may go on beyond the cut
      let at = start - carry.length;
      for (const token of tokens.slice(0, last)) {
        const from = Math.max(at, start);
        at += token.raw.length;
        if (token.type === "space" || token.type === "def") continue;
        this.list.push({ token, start: from, carry: from === start ? carry : "", open: !more && isOpenFence(token) });
      }
      if (!more) return;
      carry = last === tokens.length && solid.length > 0 ? opening(tokens[solid[0]!]!) : "";
      start = last === tokens.length ? end : at;
    }
  }
}

// cut is where a window of the text that begins at start ends: at its end, or at the end of a line or a word.
function cut(text: string, start: number): number {
  const end = start + blockLimit;
  if (end >= text.length) return text.length;
  const line = text.lastIndexOf("\n", end - 1) + 1;
  if (line > start) return line;
  const word = text.lastIndexOf(" ", end - 1) + 1;
  return word > start ? word : end;
}

const fence = /^ {0,3}(`{3,}|~{3,})[^\n]*\n?/;

function isOpenFence(token: Token): boolean {
  const found = token.type === "code" && fence.exec(token.raw);
  return !!found && !new RegExp(`\\n {0,3}${found[1]}[\`~]* *\\n?$`).test(token.raw);
}

// opening is what the rest of a code block needs before it to be read as code.
function opening(token: Token): string {
  const line = isOpenFence(token) ? fence.exec(token.raw)![0] : "";
  return line && !line.endsWith("\n") ? `${line}\n` : line;
}

// The lexer's rules are compiled when they are used first, which takes a slow phone longer than a frame. That is done
// while nobody waits for it.
const samples = ["a *b* **c** _d_ ~~e~~ `f` [g](h) ![i](j) <k@l.m> https://n.o \\p &amp; <q> r  \ns", "# a\n\nb\n===\n\n---", "- a\n  - [ ] b\n\n1. c", "> a\n\n<b>\n\n</b>", "| a | b |\n|---|---|\n| c | d |", "```a\nb\n```\n\n    c\n\n[d]: e"];

export function warmUp(idle: (f: () => void) => void) {
  const next = () => {
    const sample = samples.pop();
    if (!sample) return;
    lex(sample);
    idle(next);
  };
  idle(next);
}
