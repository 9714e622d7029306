import { useSignal, type Signal } from "@preact/signals";
import { language, t } from "../../i18n";
import type { Key } from "../../i18n/en";
import { pace } from "../../state/bandwidth";
import { lastHello, may } from "../../state/link";
import { BANDWIDTHS, bandwidth, chosenLanguage, LANGUAGES, SIZES, textSize, THEMES, theme } from "../../state/settings";
import { leave } from "../shell/arrive";
import { Icon } from "../shell/Icon";
import { back } from "../shell/router";
import { Devices } from "./Devices";
import { Notifications } from "./Notifications";

export function Settings() {
  return (
    <article class="settings">
      <header class="bar">
        <a class="icon-button only-narrow" href="#/" aria-label={t("do.back")} onClick={back}><Icon name="back" /></a>
        <h1>{t("settings.title")}</h1>
      </header>
      <div class="scroll">
        <div class="settings-in">
          <Choice name="theme" title="settings.theme" values={THEMES} chosen={theme} />
          <Choice name="size" title="settings.size" values={SIZES} chosen={textSize} />
          <Choice name="language" title="settings.language" values={LANGUAGES} chosen={chosenLanguage} />
          <Choice name="bandwidth" title="settings.bandwidth" values={BANDWIDTHS} chosen={bandwidth}>
            <p class="hint">{t("settings.bandwidth.now", { pace: t(`pace.${pace.value.word}`), why: t(`pace.why.${pace.value.why}`) })}</p>
          </Choice>
          <Notifications />
          {may("admin") && <Devices />}
          <You />
        </div>
      </div>
    </article>
  );
}

function Choice<T extends string>({ name, title, values, chosen, children }: { name: string; title: Key; values: readonly T[]; chosen: Signal<T>; children?: preact.ComponentChildren }) {
  return (
    <fieldset class="setting">
      <legend>{t(title)}</legend>
      <div class="segments">
        {values.map((value) => (
          <label key={value}>
            <input type="radio" name={name} checked={chosen.value === value} onChange={() => (chosen.value = value)} />
            <span>{t(`settings.${name}.${value}` as Key)}</span>
          </label>
        ))}
      </div>
      {children}
    </fieldset>
  );
}

function You() {
  const sure = useSignal(false);
  const hello = lastHello.value;
  if (!hello) return null;
  const { name, rights, deviceExpiresAt: end } = hello.principal;
  return (
    <section class="setting">
      <h2>{t("settings.you")}: {name}</h2>
      <p class="hint">
        {t("settings.you.rights", { rights: rights.map((r) => t(`settings.right.${r}`)).join(", ") })}
        {end && ` · ${t("settings.you.until", { date: new Date(end).toLocaleString(language.value) })}`}
      </p>
      <p class="hint">{t("settings.version", { version: hello.hubVersion, page: BUILD })}</p>
      <p class="hint">{t("settings.signOutWhat")}</p>
      {sure.value ? (
        <div class="row">
          <button type="button" class="plain" onClick={() => (sure.value = false)}>{t("do.cancel")}</button>
          <button type="button" class="danger" onClick={() => void leave()}>{t("settings.signOutSure")}</button>
        </div>
      ) : (
        <button type="button" class="plain" onClick={() => (sure.value = true)}>{t("settings.signOut")}</button>
      )}
    </section>
  );
}
