import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../i18n";
import { pace } from "../../state/bandwidth";
import { caughtUp } from "../../wire/topics";
import { link, type LinkStatus } from "../../wire/link";
import { span } from "../time";

// The thin strip that says how the connection is. A screen reader hears what changed, not the seconds.
export function Strip() {
  const status = link.status.value;
  const back = useBack();
  const cut = status.kind === "cut" || (status.kind === "ended" && status.reason !== "signedOut");
  return (
    <section class={`strip strip-${status.kind}`} aria-label={t("link.title")}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{said(status, back)}</span>
      {status.kind === "cut" && <Counting status={status} />}
      {status.kind === "live" && <Pace />}
      {cut && (
        <button type="button" class="strip-do" onClick={() => (status.kind === "ended" ? location.reload() : link.retryNow())}>
          {status.kind === "ended" ? t("do.reload") : t("link.tryNow")}
        </button>
      )}
    </section>
  );
}

const TOLD = 6_000; // ms; how long the strip says how the coming back went

// useBack gives what there is to say of a coming back a moment ago.
function useBack() {
  const now = caughtUp.value;
  const over = useSignal(0);
  useEffect(() => {
    if (!now) return;
    const timer = setTimeout(() => (over.value = now.at), TOLD);
    return () => clearTimeout(timer);
  }, [now]);
  return now && now.at > over.value ? now : null;
}

function said(status: LinkStatus, back: { updates: number; reloaded: boolean } | null): string {
  switch (status.kind) {
    case "connecting": return t("link.connecting");
    case "live": return back ? (back.reloaded ? t("link.reloaded") : t("link.caughtUp", { n: back.updates })) : t("link.live");
    case "catchingUp": return t("link.catchingUp", { n: status.behind ?? 1 });
    case "cut": return t("link.cut");
    case "ended": return status.reason === "broken" || status.reason === "policy" || status.reason === "tooBig" ? t(`link.ended.${status.reason}`) : t("link.ended");
  }
}

function Counting({ status }: { status: LinkStatus }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const left = Math.ceil(((status.retryAt ?? 0) - now.value) / 1000);
  return (
    <span aria-hidden="true" class="strip-count">
      {t("link.since", { span: span(now.value - status.since) })}
      {" · "}
      {left > 0 ? t("link.next", { n: left }) : t("link.trying")}
    </span>
  );
}

function Pace() {
  const { word, why } = pace.value;
  return (
    <span class="strip-pace" title={t(`pace.why.${why}`)}>
      {t(`pace.${word}`)}
    </span>
  );
}
