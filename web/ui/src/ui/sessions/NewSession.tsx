import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../../i18n";
import { createSession, workspaces } from "../../state/sessions";
import { live } from "../../wire/link";
import { Dialog } from "../shell/Dialog";
import { Icon } from "../shell/Icon";
import { go, sessionLink } from "../shell/router";

// A new session: in a folder that is known, by one tap, or in one that is typed.
export function NewSession({ folder, onClose }: { folder: string; onClose: () => void }) {
  const known = workspaces.value;
  const path = useSignal(folder && (known.find((w) => w.id === folder)?.path ?? folder));
  const busy = useSignal(false), failure = useSignal("");
  const id = useId();
  const make = async (where: string) => {
    busy.value = true;
    failure.value = "";
    try {
      const sessionId = await createSession(where);
      onClose();
      go(sessionLink(sessionId));
    } catch (error) {
      failure.value = (error as Error).message;
    }
    busy.value = false;
  };
  const stuck = busy.value || !live.value;
  return (
    <Dialog title={t("sessions.new")} onClose={onClose}>
      {!folder && known.length > 0 && (
        <ul class="choices">
          {known.map((w) => (
            <li key={w.id}>
              <button type="button" class="choice" disabled={stuck} onClick={() => void make(w.path)}>
                <Icon name="folder" />
                <span class="choice-text"><strong>{w.path.split(/[\\/]/).filter(Boolean).at(-1) ?? w.path}</strong><small dir="ltr">{w.path}</small></span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <form class="stack" onSubmit={(e) => (e.preventDefault(), path.value.trim() && void make(path.value.trim()))}>
        <label class="field" for={id}>
          <span>{!folder && known.length ? t("sessions.otherFolder") : t("sessions.folder")}</span>
          <input id={id} value={path.value} placeholder="/home/me/project" autocapitalize="off" autocomplete="off" spellcheck={false} dir="ltr" onInput={(e) => (path.value = e.currentTarget.value)} />
        </label>
        <button class="primary" disabled={stuck || !path.value.trim()}>{busy.value ? t("sessions.making") : t("sessions.make")}</button>
      </form>
      {failure.value && <p class="notice notice-bad" role="alert">{failure.value}</p>}
    </Dialog>
  );
}
