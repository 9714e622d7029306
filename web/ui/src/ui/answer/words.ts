// How questions and their ends are put into words.

import { subjectOf, type Ask, type Line } from "../../state/asks";
import { t } from "../../i18n";
import type { Key } from "../../i18n/en";
import type { Person } from "../../wire/types";
import { plain } from "../rows/inert";
import { span } from "../time";

const RECENT = 1000; // ms; counting starts with the second second

/** ago says how long ago something was. */
export const ago = (ms: number): string => (ms < RECENT ? t("time.justNow") : t("time.ago", { time: span(ms) }));

/** titleOf is the question itself. */
export function titleOf(ask: Ask): string {
  const { toolName, schema } = ask.params;
  if (ask.kind === "plan") return t("answer.plan.title");
  if (ask.kind === "permission") return t("answer.permission.title", { tool: plain(toolName || t("answer.someTool")) });
  if (schema?.requestedSchema) return t("answer.form.title", { server: plain(schema.serverName || t("answer.someServer")) });
  return t("answer.question.title");
}

/** aboutOf names in a line what a question is about. */
export function aboutOf(ask: Ask): string {
  return [ask.kind === "permission" ? ask.params.toolName : "", plain(subjectOf(ask.params))].filter(Boolean).join(" ");
}

/** nameOf is a person, as the reader knows them. */
export function nameOf(by: Person | null, mine = false): string {
  if (mine) return t("answer.you");
  if (!by?.name) return t("answer.somebody");
  return by.name === "agent" && !by.device ? t("answer.agent") : plain(by.name);
}

/** lineText says how a question ended. */
export function lineText(line: Line): string {
  const text = t(lineKey(line), { who: nameOf(line.by, line.mine), what: thingOf(line) });
  return line.lateBy === undefined ? text : t("answer.line.before", { line: text, time: span(line.lateBy) });
}

const outcomes = new Set([
  "allow", "allowAlways", "fullAccess", "deny", "modify", "escalate", "accept", "skip", "decline", "cancel", "unconfirmed",
  "resolvedByAgent", "cancelled", "sessionClosed", "appServerExited", "hubRestarted",
]);

function lineKey({ outcome, ...line }: Line): Key {
  if (isPlan(line) && (outcome === "accept" || outcome === "decline")) return `answer.line.${outcome}.plan`;
  return `answer.line.${outcomes.has(outcome) ? outcome : "unknown"}` as Key;
}

function thingOf(line: Line): string {
  if (isPlan(line)) return t("answer.thing.plan");
  const permission = line.kind === "permission" || (line.kind === undefined && line.toolName !== "AskUserQuestion");
  const words = [permission ? line.toolName : "", line.subject].filter(Boolean).join(" ");
  if (!words) return t("answer.thing.question");
  return permission ? plain(words) : `“${plain(words)}”`;
}

const isPlan = (line: Omit<Line, "outcome">) => line.kind === "plan" || (line.kind === undefined && line.toolName === "ExitPlanMode");
