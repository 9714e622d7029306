import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { settled, type Command } from "../../state/commands";
import { drafts } from "../../state/drafts";
import type { Steering } from "../../state/steering";
import { authorOf, isMe } from "../../state/together";
import type { Head, QueueItem } from "../../wire/types";
import { Cross, Dots, Down, Now, Pencil, Up } from "./icons";
import { Item, Menu } from "./Menu";
import { reason } from "./words";

// What waits for its turn, in the order in which it will run.
export function Queue({ head, steering, editable }: { head: Head; steering: Steering; editable: boolean }) {
  const { items, autoDrain, pauseReason } = head.queue;
  const [said, say] = useState("");
  if (items.length === 0 && autoDrain) return null;
  const held = pauseReason ? t(`compose.queue.${pauseReason}`) : t("compose.queue.held");
  return (
    <section class="queue" aria-label={t("compose.queue.label")}>
      <header>
        <span>{t("compose.queue.count", { n: items.length })}{!autoDrain && <b> · {held}</b>}</span>
        {editable && (
          <button type="button" class="text-button" onClick={() => steering.setAutoDrain(!autoDrain)}>{t(autoDrain ? "compose.queue.hold" : "compose.queue.run")}</button>
        )}
      </header>
      <ol>
        {items.map((item, i) => (
          <Waiting key={item.queueItemId} item={item} i={i} n={items.length} head={head} steering={steering} editable={editable} say={say} />
        ))}
      </ol>
      <p class="unseen" role="status">{said}</p>
    </section>
  );
}

interface Action { label: string; icon: ComponentChildren; run: () => void; disabled?: boolean; destroys?: boolean; hint?: string }

function Waiting({ item, i, n, head, steering, editable, say }: {
  item: QueueItem; i: number; n: number; head: Head; steering: Steering; editable: boolean; say: (what: string) => void;
}) {
  const [editing, edit] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const author = authorOf(item.sourceCommandId).value;
  const now = head.availability.sendQueuedNow;
  const free = head.availability.queueEdit.allowed && item.dispatch.state === "queued";

  function move(by: -1 | 1): void {
    if (i + by < 0 || i + by >= n) return;
    steering.moveItem(item, by);
    say(t("compose.queue.moved", { i: i + by + 1, n }));
  }
  function onKeyDown(e: KeyboardEvent): void {
    const by = e.altKey ? ({ ArrowUp: -1, ArrowDown: 1 } as const)[e.key as "ArrowUp" | "ArrowDown"] : undefined;
    if (!by || !free) return;
    e.preventDefault();
    move(by);
  }

  if (editing) return <EditItem item={item} i={i} steering={steering} close={() => edit(false)} />;
  const actions: Action[] = [
    { label: t("compose.queue.edit"), icon: <Pencil />, run: () => edit(true), disabled: !free || item.kind === "compact" },
    { label: t("compose.queue.up"), icon: <Up />, run: () => move(-1), disabled: !free || i === 0 },
    { label: t("compose.queue.down"), icon: <Down />, run: () => move(1), disabled: !free || i === n - 1 },
    { label: t("compose.queue.now"), icon: <Now />, run: () => steering.sendItemNow(item), disabled: !free || !now.allowed || item.steer.state === "steering",
      hint: now.allowed ? undefined : reason(now.reasonCode) },
    { label: t("compose.queue.delete"), icon: <Cross />, run: () => steering.deleteItem(item), disabled: !free, destroys: true },
  ];
  return (
    <li ref={row} class="waiting" aria-label={t("compose.queue.item", { i: i + 1, n })} onKeyDown={onKeyDown}>
      <span class="waiting-text">
        {item.kind === "compact" ? t("compose.queue.compact") : item.text}
        <small>
          {author && !isMe(author) && <span>{author.name}</span>}
          {item.attachments.length > 0 && <span>{t("compose.queue.files", { n: item.attachments.length })}</span>}
          {item.steer.state === "steering" && <span>{t("compose.queue.guides")}</span>}
          {item.steer.state === "fellBack" && <span>{t("compose.queue.fellBack")}</span>}
        </small>
      </span>
      {editable && (
        <span class="waiting-actions">
          {actions.map((a) => (
            <button key={a.label} type="button" class="icon-button" aria-label={a.label} title={a.hint ?? a.label} disabled={a.disabled} onClick={a.run}>{a.icon}</button>
          ))}
        </span>
      )}
      {editable && (
        <Menu name={t("compose.queue.actions", { i: i + 1 })} face={<Dots />} class="icon-button waiting-menu">
          {(close) => actions.map((a) => (
            <Item key={a.label} label={a.label} hint={a.hint} icon={a.icon} disabled={a.disabled} destroys={a.destroys} onPick={() => { close(); a.run(); }} />
          ))}
        </Menu>
      )}
    </li>
  );
}

// The edited text is a draft until the agent has it: if it says no, or the page is loaded anew, nothing is lost. If the
// prompt's turn comes while somebody edits it, what they wrote goes to the composer.
function EditItem({ item, i, steering, close }: { item: QueueItem; i: number; steering: Steering; close: () => void }) {
  const draft = drafts.of(item.queueItemId);
  const [text, setText] = useState(draft.peek().text || item.text);
  const [command, setCommand] = useState<Command | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => () => {
    const mine = draft.peek().text;
    const { id, head } = steering.conversation;
    if (!mine || mine === item.text || head.peek()?.queue.items.some((q) => q.queueItemId === item.queueItemId)) return;
    draft.value = { text: "" };
    drafts.restore(id, mine);
  }, []);
  const fate = command?.fate.value;
  useEffect(() => {
    if (fate?.kind === "accepted") leave();
  }, [fate?.kind]);
  function write(text: string): void {
    setText(text);
    draft.value = { text };
  }
  function leave(): void {
    draft.value = { text: "" };
    close();
  }
  const busy = fate !== undefined && !settled(fate);
  return (
    <li class="waiting editing">
      <textarea ref={field} rows={3} value={text} aria-label={t("compose.queue.editLabel", { i: i + 1 })} onInput={(e) => write(e.currentTarget.value)}
        onKeyDown={(e) => { if (e.key === "Escape") leave(); }} />
      <div class="buttons">
        <button type="button" class="primary" disabled={busy || !text.trim()} onClick={() => setCommand(steering.editItem(item, text.trim()))}>{t("compose.save")}</button>
        <button type="button" onClick={leave}>{t("compose.cancel")}</button>
      </div>
    </li>
  );
}
