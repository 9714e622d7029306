import { t } from "../../i18n";
import { presentationOf, type Model } from "../../state/presentation";
import type { Steering } from "../../state/steering";
import type { Config, Head } from "../../wire/types";
import { Down } from "./icons";
import { Item, Menu } from "./Menu";
import { modes } from "./slash";
import { modeHint, modeName, reason } from "./words";

// How the agent works in this session: which mode it is in.
export function ModeMenu({ config, steering }: { config: Config; steering: Steering }) {
  const wanted = steering.wanted.value.mode;
  const mode = wanted ?? config.mode;
  return (
    <Menu name={t("compose.mode")} class={wanted ? "pick asked" : "pick"} words face={<><span class="unseen">{t("compose.mode")}: </span>{modeName(mode)}<Down /></>}>
      {(close) => <ModeList mode={mode} onPick={(m) => { close(); if (m !== mode) steering.setMode(m); }} />}
    </Menu>
  );
}

export function ModeList({ mode, onPick }: { mode: string; onPick: (mode: string) => void }) {
  return (
    <div role="radiogroup" aria-label={t("compose.mode")}>
      {modes.map((m) => <Item key={m} label={modeName(m)} hint={modeHint(m)} checked={m === mode} onPick={() => onPick(m)} />)}
    </div>
  );
}

// Which model answers, and how much it thinks first.
export function ModelMenu({ head, steering }: { head: Head; steering: Steering }) {
  const { config, availability } = head;
  const wanted = steering.wanted.value;
  const now = { provider: wanted.provider ?? config.provider, model: wanted.model ?? config.model, thought: wanted.thought ?? config.thought };
  const models = presentationOf(head.sessionId).value?.models ?? [];
  const pending = wanted.model !== undefined || wanted.thought !== undefined;
  const allowed = availability.switchModelConfig;
  const face = <><span class="unseen">{t("compose.model")}: </span><span class="pick-text">{labelOf(models, now.model)}{now.thought && ` · ${now.thought}`}</span><Down /></>;
  return (
    <Menu name={t("compose.model")} class={pending ? "pick asked" : "pick"} words face={face}>
      {(close) => (
        <>
          {!allowed.allowed && <p class="menu-note">{reason(allowed.reasonCode)}</p>}
          <h2>{t("compose.model")}</h2>
          {models.length === 0 && <p class="menu-note">{t("compose.noModels")}</p>}
          <ModelList models={models} chosen={now.model} disabled={!allowed.allowed}
            onPick={(m) => { close(); steering.setModel(m.ref.providerId, m.ref.modelId, thoughtFor(m, now.thought)); }} />
          <h2>{t("compose.thought")}</h2>
          <div role="radiogroup" aria-label={t("compose.thought")}>
            {config.thoughtLevels.map((level) => (
              <Item key={level} label={level} checked={level === now.thought} disabled={!allowed.allowed}
                onPick={() => { close(); steering.setModel(now.provider, now.model, level); }} />
            ))}
          </div>
        </>
      )}
    </Menu>
  );
}

export function ModelList({ models, chosen, disabled, onPick }: { models: Model[]; chosen: string; disabled?: boolean; onPick: (model: Model) => void }) {
  return (
    <div role="radiogroup" aria-label={t("compose.model")}>
      {models.map((m) => (
        <Item key={m.ref.providerId + m.ref.modelId} label={m.label} hint={hintOf(m)} checked={m.ref.modelId === chosen} disabled={disabled || !!m.disabledReason}
          onPick={() => onPick(m)} />
      ))}
    </div>
  );
}

const labelOf = (models: Model[], id: string) => models.find((m) => m.ref.modelId === id)?.label ?? id ?? t("compose.modelUnknown");

const hintOf = (m: Model) => m.disabledReason ?? [
  m.providerLabel,
  m.contextWindow && t("compose.context", { n: Math.round(m.contextWindow / 1000) }),
  m.properties?.inputFormat?.supportsImage && t("compose.pictures"),
].filter(Boolean).join(" · ");

// thoughtFor keeps the level where the other model has it.
function thoughtFor(m: Model, level: string): string {
  const levels = m.reasoning?.levels.map((l) => l.value) ?? [];
  return levels.includes(level) ? level : (m.reasoning?.defaultLevel ?? levels[0] ?? level);
}
