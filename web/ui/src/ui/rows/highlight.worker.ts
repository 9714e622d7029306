// The highlighter, as a script of its own: what it costs and how long its grammars brood is no matter of the page's.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

// Runs collects what the highlighter says as plain runs of text, each with the innermost thing that it is part of.
class Runs {
  readonly runs: string[] = [];
  private readonly open: string[] = [""];

  addText(text: string) {
    const kind = this.open.at(-1)!;
    if (this.runs.at(-2) === kind) this.runs[this.runs.length - 1] += text;
    else this.runs.push(kind, text);
  }
  openNode(scope: string) {
    this.open.push(kinds[scope.split(".")[0]!] ?? this.open.at(-1)!);
  }
  closeNode() {
    this.open.pop();
  }
  startScope(scope: string) {
    this.openNode(scope);
  }
  endScope() {
    this.closeNode();
  }
  __addSublanguage({ runs }: Runs) {
    for (let i = 0; i < runs.length; i += 2) {
      this.open.push(runs[i]!);
      this.addText(runs[i + 1]!);
      this.open.pop();
    }
  }
  finalize() {}
  toHTML() {
    return "";
  }
}

// The highlighter tells more things apart than a page needs colours for.
const kinds: Record<string, string> = {
  keyword: "word", literal: "number", "selector-tag": "word", tag: "name", name: "name", built_in: "name", type: "name", class: "name",
  title: "title", section: "title", string: "string", regexp: "string", char: "string", subst: "", symbol: "number", number: "number",
  comment: "comment", quote: "comment", doctag: "comment", meta: "comment", attr: "attribute", attribute: "attribute",
  "selector-class": "title", "selector-id": "title", "selector-attr": "attribute", "selector-pseudo": "attribute",
  variable: "attribute", "template-variable": "attribute", property: "attribute", addition: "added", deletion: "removed",
};

hljs.configure({ __emitter: Runs as never, throwUnescapedHTML: false });
const all = { bash, c, cpp, csharp, css, diff, go, java, javascript, json, kotlin, python, ruby, rust, sql, swift, typescript, xml, yaml };
for (const [name, grammar] of Object.entries(all)) hljs.registerLanguage(name, grammar);

self.onmessage = ({ data }: MessageEvent<{ id: number; code: string; language: string }>) => {
  let runs: string[] | null = null;
  try {
    runs = (hljs.highlight(data.code, { language: data.language, ignoreIllegals: true })._emitter as unknown as Runs).runs;
  } catch {
    // plain, then
  }
  self.postMessage({ id: data.id, runs });
};
