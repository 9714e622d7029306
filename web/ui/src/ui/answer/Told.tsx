// How a question ended that somebody here had before them: one line in the place where it was.

import { t } from "../../i18n";
import { Icon } from "../rows/Icon";
import { second } from "../time";
import { lostWords } from "./drafts";
import { dismiss, told } from "./sheet";
import { ago, lineText } from "./words";

export function Told({ sessionId }: { sessionId: string }) {
  const lines = told.value.filter((l) => l.sessionId === sessionId);
  return (
    <div class="answer-told" role="status">
      {lines.map((line) => {
        const words = lostWords(line.requestId);
        return (
          <div key={line.requestId}>
            <p>
              {t("answer.line.ago", { line: lineText(line), ago: ago(second.value - line.at) })}
              {words && <><br />{t("answer.lost")} <q>{words}</q></>}
            </p>
            <button type="button" aria-label={t("answer.dismiss")} title={t("answer.dismiss")} onClick={() => dismiss(line)}><Icon of="failed" /></button>
          </div>
        );
      })}
    </div>
  );
}
