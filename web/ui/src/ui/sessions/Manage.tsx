import { useSignal } from "@preact/signals";
import { t } from "../../i18n";
import { closeSession, renameSession } from "../../state/sessions";
import { live } from "../../wire/link";
import { Dialog } from "../shell/Dialog";
import { go, route } from "../shell/router";

// What can be done with a session: another name, and closing it.
export function Manage({ sessionId, title, onClose }: { sessionId: string; title: string; onClose: () => void }) {
  const name = useSignal(title);
  const busy = useSignal(false), failure = useSignal("");
  const sure = useSignal(false);
  const attempt = async (what: () => Promise<void>) => {
    busy.value = true;
    failure.value = "";
    try {
      await what();
      onClose();
    } catch (error) {
      failure.value = (error as Error).message;
    }
    busy.value = false;
  };
  const close = async () => {
    await closeSession(sessionId);
    if (route.value.page === "session" && route.value.sessionId === sessionId) go("#/");
  };
  const stuck = busy.value || !live.value;
  return (
    <Dialog title={title || t("sessions.untitled")} onClose={onClose}>
      <form class="stack" onSubmit={(e) => (e.preventDefault(), void attempt(() => renameSession(sessionId, name.value.trim())))}>
        <label class="field">
          <span>{t("sessions.name")}</span>
          <input value={name.value} maxLength={200} autocomplete="off" onInput={(e) => (name.value = e.currentTarget.value)} />
        </label>
        <button class="primary" disabled={stuck || !name.value.trim() || name.value.trim() === title}>{t("sessions.rename")}</button>
      </form>
      <div class="stack apart">
        <p class="hint">{t("sessions.closeWhat")}</p>
        {sure.value ? (
          <div class="row">
            <button type="button" class="plain" onClick={() => (sure.value = false)}>{t("do.cancel")}</button>
            <button type="button" class="danger" disabled={stuck} onClick={() => void attempt(close)}>{t("sessions.closeSure")}</button>
          </div>
        ) : (
          <button type="button" class="plain" disabled={stuck} onClick={() => (sure.value = true)}>{t("sessions.close")}</button>
        )}
      </div>
      {failure.value && <p class="notice notice-bad" role="alert">{failure.value}</p>}
    </Dialog>
  );
}
