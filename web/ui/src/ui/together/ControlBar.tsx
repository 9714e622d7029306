import { useEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import { may } from "../../state/link";
import { changeControl, controlOf, isMe, join, presenceOf } from "../../state/together";
import { live } from "../../wire/link";
import { Item, Menu } from "../compose/Menu";
import { second } from "../time";

// Who steers, where only one may at a time. What somebody else has written meanwhile stays in their composer.
export function ControlBar({ sessionId }: { sessionId: string }) {
  useEffect(() => join(sessionId), [sessionId]);
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const control = controlOf(sessionId).value;
  useEffect(() => setWhy(""), [control]);
  if (control?.mode !== "lease" || !may("control")) return null;

  const { holder } = control;
  const mine = holder !== null && isMe(holder);
  const since = holder && Date.parse(holder.takeableAt); // from then on it may be taken from whoever holds it
  const wait = since !== null && !mine && !may("admin") ? since - second.value : 0;
  async function change(action: "take" | "release" | "handOver", to?: string): Promise<void> {
    setBusy(true);
    try {
      await changeControl(sessionId, action, to);
    } catch (e) {
      setWhy(t("together.control.failed", { why: (e as Error).message }));
    } finally {
      setBusy(false);
    }
  }
  const heirs = presenceOf(sessionId).value.clients.filter((c) => !isMe(c) && c.rights?.includes("control"));
  const off = busy || !live.value;
  return (
    <div class={mine ? "control-bar mine" : "control-bar"} role="group" aria-label={t("together.control")}>
      <span role="status">
        {mine ? t("together.control.mine") : holder ? t("together.control.theirs", { who: holder.name }) : t("together.control.free")}
        {wait > 0 && ` ${t("together.control.wait", { min: Math.max(1, Math.round(wait / 60_000)) })}`}
        {why && <b class="bad"> {why}</b>}
      </span>
      {mine ? (
        <span class="buttons">
          <Menu name={t("together.control.handOver")} face={t("together.control.handOver")} class="text-button" words disabled={off}>
            {(close) => (heirs.length === 0 ? <p class="menu-note">{t("together.control.nobody")}</p>
              : heirs.map((c) => <Item key={c.connectionId} label={t("together.control.handTo", { who: c.name })} onPick={() => { close(); void change("handOver", c.device ?? c.name); }} />))}
          </Menu>
          <button type="button" class="text-button" disabled={off} onClick={() => void change("release")}>{t("together.control.release")}</button>
        </span>
      ) : (
        <button type="button" class="text-button" disabled={off || wait > 0} onClick={() => void change("take")}>
          {holder ? t("together.control.takeOver", { who: holder.name }) : t("together.control.take")}
        </button>
      )}
    </div>
  );
}
