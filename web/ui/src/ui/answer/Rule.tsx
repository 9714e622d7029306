// An answer that lasts, with the rule spelt out that it makes.

import type { Ask, Option } from "../../state/asks";
import { t } from "../../i18n";
import { inert, plain } from "../rows/inert";
import { AnswerButton } from "./AnswerButton";

export function Rule({ ask, option }: { ask: Ask; option: Option }) {
  const label = plain(option.name || option.optionId);
  const choice = { key: option.optionId, label, ...(option.kind === "v4" ? { optionId: option.optionId } : { result: option.response }) };
  const effects = effectsOf(option);
  return (
    <div class="answer-rule">
      {effects.length > 0 && <ul>{effects.map((e, i) => <li key={i}>{e.text} {e.match && <code>{inert(e.match)}</code>}</li>)}</ul>}
      {option.description && <p>{inert(option.description)}</p>}
      <AnswerButton ask={ask} name={option.optionId} label={label} tone="plain" choice={() => choice} />
    </div>
  );
}

interface Effect {
  text: string;
  match?: string;
}

// effectsOf says what a response changes for longer than this call. What is not known is shown as it is.
function effectsOf({ optionId, response }: Option): Effect[] {
  const updates = Array.isArray(response.permissionUpdates) ? response.permissionUpdates : [];
  const effects = updates.flatMap(effectsOfUpdate);
  if (response.modifiedInput !== undefined) effects.push({ text: t("answer.rule.modified"), match: JSON.stringify(response.modifiedInput) });
  if (optionId === "fullAccess") effects.push({ text: t("answer.rule.full") });
  return effects;
}

function effectsOfUpdate(update: any): Effect[] {
  if (update?.type === "addRules" && Array.isArray(update.rules)) return update.rules.map((rule: any) => effectOfRule(rule, update.behavior));
  if (update?.type === "setMode") return [{ text: t("answer.rule.mode", { mode: plain(String(update.mode)) }) }];
  if (update?.type === "addDirectories" && Array.isArray(update.directories)) {
    return update.directories.map((folder: unknown) => ({ text: t("answer.rule.folder"), match: String(folder) }));
  }
  return [{ text: "", match: JSON.stringify(update) }];
}

function effectOfRule(rule: any, behavior: unknown): Effect {
  const tool = plain(String(rule?.toolName ?? "?"));
  const to = behavior === "deny" ? `${t("answer.rule.deny")}: ` : behavior === "ask" ? `${t("answer.rule.ask")}: ` : "";
  if (!rule?.ruleContent) return { text: to + t("answer.rule.tool", { tool }) };
  return { text: to + t("answer.rule.match", { tool }), match: String(rule.ruleContent) };
}
