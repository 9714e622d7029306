import { t } from "../../i18n";
import { lastHello } from "../../state/link";
import { listSoon, workspaceName, workspaces } from "../../state/sessions";
import { NewSession } from "../compose/NewSession";
import { Icon } from "../shell/Icon";
import { back, goOn, sessionLink } from "../shell/router";

// A new session; the folder that was asked for is offered first.
export function New({ folder }: { folder?: string | undefined }) {
  const known = workspaces.value.map(({ id }) => ({ id, name: `${workspaceName(id)} (${id})` }));
  const offered = [...known.filter((w) => w.id === folder), ...known.filter((w) => w.id !== folder)];
  return (
    <article class="session">
      <header class="bar">
        <a class="icon-button only-narrow" href="#/" aria-label={t("do.back")} onClick={back}><Icon name="back" /></a>
        <h1>{t("sessions.new")}</h1>
      </header>
      <div class="scroll">
        <div class="new">
          {!known.length && <p class="hint">{t("sessions.whatIsThis")}</p>}
          <NewSession key={offered[0]?.id ?? ""} workspaces={offered} limited={Boolean(lastHello.value?.principal.sessions?.length)} onCreated={(id) => {
            listSoon();
            goOn(sessionLink(id));
          }} />
        </div>
      </div>
    </article>
  );
}
