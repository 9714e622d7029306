// Slash commands: those of the agent's workspace, and two of the page's own.

import { t } from "../../i18n";
import type { SlashCommand } from "../../wire/types";

export const modes = ["build", "edit", "plan", "yolo", "guarded"] as const;

export const ownCommands = (): SlashCommand[] => [
  { name: "stop", description: t("compose.slash.stop"), source: "page" },
  { name: "mode", description: t("compose.slash.mode"), inputHint: t("compose.slash.modeHint", { modes: modes.join("|") }), source: "page" },
];

// What the text before the caret asks the menu for, or null: a slash at the very beginning and no space yet.
export const asked = (text: string, caret: number): string | null => /^\/([\w:-]*)$/.exec(text.slice(0, caret))?.[1]?.toLowerCase() ?? null;

// matching lists the commands that begin with what was typed, then those that merely contain it.
export function matching(commands: readonly SlashCommand[], typed: string): SlashCommand[] {
  const name = (c: SlashCommand) => c.name.replace(/^\//, "").toLowerCase();
  const begins = commands.filter((c) => name(c).startsWith(typed));
  return [...begins, ...commands.filter((c) => !name(c).startsWith(typed) && name(c).includes(typed))];
}

export type Spoken =
  | { kind: "text" }
  | { kind: "compact" }
  | { kind: "goal" }
  | { kind: "stop" }
  | { kind: "mode"; mode: string };

// spoken tells which command of its own a text is; everything else goes to the agent as it stands.
export function spoken(text: string): Spoken {
  const [, name, rest] = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  switch (name) {
    case "compact":
      return rest ? { kind: "text" } : { kind: "compact" };
    case "goal":
      return { kind: "goal" };
    case "stop":
      return rest ? { kind: "text" } : { kind: "stop" };
    case "mode":
      return { kind: "mode", mode: rest?.trim() ?? "" };
    default:
      return { kind: "text" };
  }
}
