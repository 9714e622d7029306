// Who answered what, as it stays in the history.

import { linesOf, type Line } from "../../state/asks";
import { hourMinute } from "../time";
import { lineText } from "./words";

/** AnswerNote is for the row of a tool call: how the questions about it ended. */
export function AnswerNote({ sessionId, toolCallId }: { sessionId: string; toolCallId: string }) {
  const lines = linesOf(sessionId).value.filter((l) => l.toolCallId === toolCallId);
  return <>{lines.map((line) => <AnswerLine key={line.at} line={line} />)}</>;
}

export function AnswerLine({ line }: { line: Line }) {
  return (
    <p class={`answer-line ${toneOf(line.outcome)}`}>
      {lineText(line)} <time dateTime={new Date(line.at).toISOString()}>{hourMinute(line.at)}</time>
    </p>
  );
}

const yes = new Set(["allow", "allowAlways", "fullAccess", "modify", "accept"]);
const no = new Set(["deny", "decline", "cancel"]);

const toneOf = (outcome: string) => (yes.has(outcome) ? "yes" : no.has(outcome) ? "no" : "other");
