// What a screen reader says when a question comes: one sentence, once, when it has been there for a moment.

import { useEffect, useState } from "preact/hooks";
import { waiting, type Ask } from "../../state/asks";
import { t } from "../../i18n";
import { aboutOf, titleOf } from "./words";

const CALM = 500; // ms; several that come at once are told as one

export function Spoken({ ask }: { ask: Ask | undefined }) {
  const [text, say] = useState("");
  useEffect(() => {
    const later = setTimeout(() => say(ask ? t("answer.announce", { waits: t("answer.waits", { n: waiting.peek().length }), title: titleOf(ask), what: aboutOf(ask) }) : ""), CALM);
    return () => clearTimeout(later);
  }, [ask?.id]);
  return <p class="answer-spoken" role="status">{text}</p>;
}
