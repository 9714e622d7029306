import { waiting, type Ask } from "../../state/asks";
import { session } from "../../state/sessions";
import { t } from "../../i18n";
import { plain } from "../rows/inert";
import { route } from "../shell/router";
import { second } from "../time";
import { open } from "./sheet";
import { aboutOf, ago } from "./words";

/** WaitingBar says how many questions wait, in all sessions, and one tap opens the oldest, or the given one. */
export function WaitingBar({ ask = waiting.value[0] }: { ask?: Ask | undefined }) {
  if (!ask) return null;
  return (
    <button type="button" class="answer-bar" aria-keyshortcuts="Alt+Q" onClick={() => open(ask)}>
      <b>{t("answer.waits", { n: Math.max(1, waiting.value.length) })}</b>
      <small>{ago(second.value - ask.openedAt)}</small>
      <span>{[elsewhere(ask), aboutOf(ask)].filter(Boolean).join(" · ")}</span>
    </button>
  );
}

// elsewhere names the session of a question if it is not the one that is open.
function elsewhere(ask: Ask): string {
  const at = route.value;
  if (at.page === "session" && at.sessionId === ask.sessionId) return "";
  return plain(session(ask.sessionId)?.title ?? "");
}
