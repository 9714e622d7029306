import { useSignal } from "@preact/signals";
import { t } from "../../i18n";
import { appServer, may, outdated } from "../../state/link";
import { link, live } from "../../wire/link";
import { reloadPage } from "./update";

// What is to be known about the hub itself: quiet, above everything, and gone when it is over.
export function Banners() {
  return (
    <>
      {outdated.value && (
        <div class="banner" role="status">
          <span>{t("page.outdated")}</span>
          <button type="button" class="plain" onClick={() => void reloadPage()}>{t("do.reload")}</button>
        </div>
      )}
      <AppServerBanner />
    </>
  );
}

function AppServerBanner() {
  const busy = useSignal(false), failure = useSignal("");
  const state = appServer.value;
  if (!state || state.state === "ready") return null;
  const restart = async () => {
    busy.value = true;
    failure.value = "";
    await link.call("hub/restartAppServer").catch((error) => (failure.value = error.message));
    busy.value = false;
  };
  return (
    <div class={`banner banner-${state.state}`} role="status">
      <span>
        {t(`appServer.${state.state}`)}
        {state.state === "failed" && state.detail && <small> {state.detail}</small>}
        {failure.value && <small> {failure.value}</small>}
      </span>
      {state.state === "failed" && may("admin") && (
        <button type="button" class="plain" disabled={busy.value || !live.value} onClick={restart}>{t("appServer.restart")}</button>
      )}
    </div>
  );
}
