import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../i18n";
import { link } from "../../wire/link";
import { deviceGuess, entering, entry, pairAs, refusal, signInWith } from "./arrive";

// The door: naming a device that was let in by a link, or telling how to get such a link.
export function Door() {
  const at = entry.value;
  return (
    <main class="door">
      <div class="door-in">
        <img src="icon.svg" alt="" width="56" height="56" />
        <Refusal />
        {at.kind === "name" ? <NameDevice key={at.code} code={at.code} /> : <SignIn />}
      </div>
    </main>
  );
}

function Refusal() {
  const why = refusal.value;
  const { kind, reason } = link.status.value;
  const text = why ? (why.why === "other" ? why.message : t(`arrive.refused.${why.why}`))
    : kind === "ended" && (reason === "revoked" || reason === "expired") ? t(`arrive.ended.${reason}`) : "";
  return text ? <p class="notice notice-bad" role="alert">{text}</p> : null;
}

function NameDevice({ code }: { code: string }) {
  const name = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    performance.mark("usable"); // for who measures a first visit
  }, []);
  return (
    <form class="stack pair-form" onSubmit={(e) => (e.preventDefault(), void pairAs(code, name.value.trim()))}>
      <h1>{t("arrive.name.title")}</h1>
      <p>{t("arrive.name.why")}</p>
      <label class="field">
        <span>{t("arrive.name.label")}</span>
        <input ref={field} value={name.value} placeholder={deviceGuess()} maxLength={100} autocomplete="off" enterkeyhint="go" onInput={(e) => (name.value = e.currentTarget.value)} />
        <small>{t("arrive.name.empty")}</small>
      </label>
      <button class="primary" disabled={entering.value}>{entering.value ? t("arrive.entering") : t("arrive.name.go")}</button>
    </form>
  );
}

function SignIn() {
  const typed = useSignal("");
  return (
    <form class="stack sign-in" onSubmit={(e) => (e.preventDefault(), typed.value.trim() && signInWith(typed.value.trim()))}>
      <h1>{t("arrive.signIn.title")}</h1>
      <ol class="steps">
        <li>{t("arrive.signIn.run")} <code>hub pair</code></li>
        <li>{t("arrive.signIn.open")}</li>
      </ol>
      <label class="field">
        <span>{t("arrive.signIn.label")}</span>
        <input type="password" value={typed.value} autocomplete="off" autocapitalize="off" spellcheck={false} enterkeyhint="go" onInput={(e) => (typed.value = e.currentTarget.value)} />
      </label>
      <button class="primary" disabled={entering.value || !typed.value.trim()}>{entering.value ? t("arrive.entering") : t("arrive.signIn.go")}</button>
    </form>
  );
}
