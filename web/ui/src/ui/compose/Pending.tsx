import { t } from "../../i18n";
import { outbox, type Command } from "../../state/commands";
import { isHeldQueue, fateText } from "./words";

// What was sent and is not in the transcript or the queue yet: each with its fate, and with what one can do about it.
export function Pending({ commands, onEdit, onHeld }: {
  commands: readonly Command[];
  onEdit: (command: Command) => void;
  onHeld?: (command: Command, keep: boolean) => void;
}) {
  return (
    <ol class="outbox" aria-label={t("compose.pending")} hidden={commands.length === 0}>
      {commands.map((c) => <Prompt key={c.id} command={c} onEdit={onEdit} onHeld={onHeld} />)}
    </ol>
  );
}

function Prompt({ command, onEdit, onHeld }: { command: Command; onEdit: (c: Command) => void; onHeld?: (c: Command, keep: boolean) => void }) {
  const fate = command.fate.value;
  const input = (command.payload.firstInput ?? command.payload) as { text?: string; attachments?: unknown[] };
  const no = fate.kind === "refused" || fate.kind === "stale" || fate.kind === "noop";
  const held = no && onHeld && isHeldQueue(fate.code);
  return (
    <li class={no ? "outgoing no" : "outgoing"} data-fate={fate.kind}>
      <p class="outgoing-text">{input.text}</p>
      {!!input.attachments?.length && <small>{t("compose.queue.files", { n: input.attachments.length })}</small>}
      <div class="outgoing-foot">
        <p role="status">{fateText(fate)}</p>
        {held && <button type="button" class="text-button" onClick={() => onHeld(command, true)}>{t("compose.held.keep")}</button>}
        {held && <button type="button" class="text-button" onClick={() => onHeld(command, false)}>{t("compose.held.clear")}</button>}
        {no && !held && <button type="button" class="text-button" onClick={() => outbox.retry(command)}>{t("compose.again")}</button>}
        {(no || fate.kind === "unsent") && <button type="button" class="text-button" onClick={() => onEdit(command)}>{t(no ? "compose.edit" : "compose.takeBack")}</button>}
        {no && <button type="button" class="text-button" onClick={() => outbox.forget(command)}>{t("compose.discard")}</button>}
      </div>
    </li>
  );
}
