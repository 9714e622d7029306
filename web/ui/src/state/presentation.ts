// What the agent offers in a session: its models and its slash commands. It is asked once, when somebody is about to need it.

import { signal, type Signal } from "@preact/signals";
import { link } from "../wire/link";
import type { SlashCommand } from "../wire/types";

export interface Model {
  ref: { providerId: string; modelId: string };
  label: string;
  providerLabel?: string;
  contextWindow?: number;
  reasoning?: { levels: { value: string; label: string }[]; defaultLevel?: string };
  properties?: { inputFormat?: { supportsImage?: boolean } };
  disabledReason?: string;
}

export interface Presentation {
  workspacePath: string;
  models: Model[];
  slashCommands: SlashCommand[];
}

interface Read {
  session: { workspace: { workspacePath: string } };
  settings: { model: { available: Model[] } };
  slashCommands?: SlashCommand[];
}

const known = new Map<string, Signal<Presentation | null>>();
const asked = new Set<string>();

export function presentationOf(sessionId: string): Signal<Presentation | null> {
  let presentation = known.get(sessionId);
  if (!presentation) known.set(sessionId, (presentation = signal<Presentation | null>(null)));
  return presentation;
}

// learn asks for it unless it is known. It fails silently: without it, the pickers offer less, and it is asked for again.
export async function learn(sessionId: string): Promise<void> {
  const presentation = presentationOf(sessionId);
  if (presentation.peek() || asked.has(sessionId)) return;
  asked.add(sessionId);
  try {
    // No deliveryKind: with one, the agent would begin to send its other kind of updates as well.
    const read = await link.call<Read>("session/read", { sessionId, messageLimit: 1, contentProfile: "index" });
    presentation.value = {
      workspacePath: read.session.workspace.workspacePath,
      models: read.settings.model.available ?? [],
      slashCommands: read.slashCommands ?? [],
    };
  } catch {
    // see above
  } finally {
    asked.delete(sessionId);
  }
}
