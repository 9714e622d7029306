import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../i18n";
import { pushOff, pushOn, pushState, type PushState } from "../../state/push";

export function Notifications() {
  const state = useSignal<PushState | null>(null);
  const busy = useSignal(false), failure = useSignal("");
  useEffect(() => void pushState().then((s) => (state.value = s)), []);
  const attempt = async (what: () => Promise<void>) => {
    busy.value = true;
    failure.value = "";
    try {
      await what();
    } catch (error) {
      failure.value = t("push.failed", { why: (error as Error).message });
    }
    state.value = await pushState();
    busy.value = false;
  };
  return (
    <section class="setting">
      <h2>{t("push.title")}</h2>
      <p class="hint">{t("push.what")}</p>
      {state.value === "on" ? (
        <div class="row">
          <span>{t("push.isOn")}</span>
          <button type="button" class="plain" disabled={busy.value} onClick={() => void attempt(pushOff)}>{t("push.off")}</button>
        </div>
      ) : state.value === "off" ? (
        <button type="button" class="plain" disabled={busy.value} onClick={() => void attempt(pushOn)}>{t("push.on")}</button>
      ) : state.value && (
        <p class="notice">{t(`push.${state.value}`)}</p>
      )}
      {failure.value && <p class="notice notice-bad" role="alert">{failure.value}</p>}
    </section>
  );
}
