import { useEffect, useRef } from "preact/hooks";
import { t } from "../../i18n";
import { may } from "../../state/link";
import { listed, sessions } from "../../state/sessions";
import { live } from "../../wire/link";
import { WaitingBar } from "../answer/WaitingBar";
import { Sessions } from "../sessions/Sessions";
import { entry } from "./arrive";
import { Door } from "./Door";
import { Banners } from "./Banners";
import { lazy } from "./lazy";
import { route } from "./router";
import { Strip } from "./Strip";

// What a session shows is the larger half of the page: it comes after the first screen, unless it is the first screen.
const SessionView = lazy(() => import("../later").then((m) => m.SessionView));
const New = lazy(() => import("../later").then((m) => m.New));
const Settings = lazy(() => import("../later").then((m) => m.Settings));

export function App() {
  useEffect(SessionView.fetch, []);
  if (entry.value.kind !== "in") return <Door />;
  const at = route.value;
  return (
    <div class="shell" data-page={at.page} data-live={live.value}>
      <Strip />
      <Banners />
      <main class="panes">
        <nav class="pane pane-list" aria-label={t("sessions.title")}><Sessions /></nav>
        <Pane />
      </main>
      {at.page !== "session" && <WaitingBar />}
    </div>
  );
}

function Pane() {
  const at = route.value;
  const ref = useRef<HTMLElement>(null);
  const place = at.page === "session" ? at.sessionId : at.page;
  const first = useRef(true);
  // Whoever goes somewhere by keyboard or screen reader is there afterwards, not at the link that was pressed.
  useEffect(() => {
    if (first.current) first.current = false;
    else if (at.page !== "sessions") ref.current?.focus({ preventScroll: true });
    else document.querySelector<HTMLElement>("[data-came-from]")?.focus({ preventScroll: true });
  }, [place]);
  return (
    <section class="pane pane-main" tabIndex={-1} ref={ref} aria-label={t(`place.${at.page}`)}>
      {at.page === "session" ? <SessionView key={at.sessionId} sessionId={at.sessionId} />
        : at.page === "new" ? <New folder={at.folder} />
        : at.page === "settings" ? <Settings />
        : listed.value && !sessions.value.length && may("control") ? <New />
        : <p class="empty">{t("sessions.pick")}</p>}
    </section>
  );
}
