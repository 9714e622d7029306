// The transcript of a session: a list of any length, of which what is near the window is laid out.

import type { ReadonlySignal } from "@preact/signals";
import { Component } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../../i18n";
import type { Conversation } from "../../state/conversation";
import type { Row } from "../../wire/types";
import { Notes } from "../session/Notes";
import { Artifact, Hook, Marker, Subagent } from "./Cards";
import { framed } from "./frames";
import { Icon } from "./Icon";
import type { Item } from "./items";
import { Foot, Pinned } from "./Status";
import { AssistantText, Reasoning, UserInput } from "./Texts";
import { ToolCall } from "./ToolCall";
import { Fold, TurnHeader } from "./TurnHeader";
import { useView, View, ViewContext } from "./view";

export function Transcript({ conversation }: { conversation: Conversation }) {
  const view = useMemo(() => new View(conversation), [conversation]);
  useEffect(() => () => view.dispose(), [view]);
  return (
    <ViewContext.Provider value={view}>
      <section class="transcript">
        <Pinned conversation={conversation} />
        <div class="window">
          <List key={conversation.id} />
          <Ways />
        </div>
        <Foot view={view} />
        <Spoken />
      </section>
    </ViewContext.Provider>
  );
}

// How near to the first loaded row (in items) the reader has to come for more to be loaded.
const nearTop = 12;

function List() {
  const view = useView();
  const { conversation, scroller } = view;
  const list = useRef<HTMLDivElement>(null), above = useRef<HTMLDivElement>(null), below = useRef<HTMLDivElement>(null);
  const items = view.items.value, range = scroller.range.value;
  useLayoutEffect(() => scroller.attach(list.current!, above.current!, below.current!), [scroller]);
  useLayoutEffect(() => scroller.laidOut(range));
  useKeptFocus(list);
  const wantsOlder = range.from < nearTop && conversation.hasOlder.value && conversation.state.value === "live" && items.length > 0;
  useEffect(() => {
    if (wantsOlder) void conversation.loadOlder().catch(() => {}); // the next look at the top tries again
  }, [wantsOlder, items.length]);
  const older = conversation.hasOlder.value && range.from === 0;
  return (
    <>
      {older && <p class="older" role="status">{t("rows.loadingOlder", { n: conversation.totalCount.value - conversation.rowIds.value.length })}</p>}
      <div class="log" ref={list} tabIndex={0} role="log" aria-live="off" aria-label={t("rows.transcript")} onKeyDown={(e) => keys(e, view)}>
        <div ref={above} />
        {items.slice(range.from, range.to).map((item) => (
          <ItemView key={item.key} item={item} row={conversation.row(item.rows[0]!)} />
        ))}
        <div ref={below} />
        {items.length === 0 && conversation.state.value !== "loading" && <p class="empty">{t("rows.empty")}</p>}
      </div>
    </>
  );
}

// useKeptFocus gives the focus to the list when what had it was scrolled away, so that keys go on to work.
function useKeptFocus(list: { current: HTMLElement | null }) {
  const had = useRef<Element | null>(null);
  useLayoutEffect(() => {
    const now = document.activeElement;
    if (had.current && now === document.body && !had.current.isConnected) list.current?.focus({ preventScroll: true });
    had.current = list.current?.contains(now) ? now : null;
  });
}

function keys(e: KeyboardEvent, view: View) {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target !== e.currentTarget) return;
  if (e.key === "End") view.scroller.toEnd();
  else if (e.key === "n") jumpToQuestion(view);
  else return;
  e.preventDefault();
}

class ItemView extends Component<{ item: Item; row: ReadonlySignal<Row> }> {
  static override contextType = ViewContext;
  private element: HTMLElement | null = null;
  private forget = () => {};

  override shouldComponentUpdate(next: { item: Item; row: ReadonlySignal<Row> }) {
    const { item, row } = this.props;
    return next.row !== row || next.item.rows.length !== item.rows.length;
  }
  override componentDidMount() {
    this.forget = (this.context as View).scroller.observe(this.element!, this.props.item.key);
  }
  override componentWillUnmount() {
    this.forget();
  }
  override render() {
    const { item, row } = this.props;
    return (
      <div class="item" ref={(e) => void (this.element = e)}>
        {item.key < 0 ? <Fold item={item} /> : <RowView of={row} />}
        {item.key > 0 && <Notes conversation={(this.context as View).conversation} rowId={item.key} />}
      </div>
    );
  }
}

// RowView follows one row, a frame at a time.
function RowView({ of }: { of: ReadonlySignal<Row> }) {
  const [shown, stop] = useMemo(() => framed(of), [of]);
  useEffect(() => () => void stop(), [stop]);
  const row = shown.value;
  switch (row.kind) {
    case "turnHeader":
      return <TurnHeader row={row} />;
    case "userInput":
      return <UserInput row={row} />;
    case "assistantText":
      return <AssistantText row={row} />;
    case "reasoning":
      return <Reasoning row={row} />;
    case "toolCall":
      return <ToolCall row={row} />;
    case "artifact":
      return <Artifact row={row} />;
    case "subagent":
      return <Subagent row={row} />;
    case "hookInvocation":
      return <Hook row={row} />;
    case "timelineMarker":
      return <Marker row={row} />;
    default:
      return null; // a kind that a newer app-server has
  }
}

// Ways are the buttons over the list's lower edge: to the question that waits, and to what is new.
function Ways() {
  const view = useView();
  const waits = view.question.value;
  return (
    <div class="ways">
      {waits && <button type="button" class="way waits" onClick={() => jumpToQuestion(view)}><Icon of={waits} /> {t("rows.toQuestion")}</button>}
      {!view.scroller.atEnd.value && (
        <button type="button" class="way" onClick={() => view.scroller.toEnd()} aria-label={view.news.value ? t("rows.newBelow", { n: view.news.value }) : t("rows.toEnd")}>
          <Icon of="down" />{view.news.value > 0 && <span>{t("rows.newBelow", { n: view.news.value })}</span>}
        </button>
      )}
    </div>
  );
}

function jumpToQuestion(view: View) {
  const anchor = view.conversation.head.peek()?.pendingInteractions.find((i) => i.anchorRowId !== null)?.anchorRowId;
  if (anchor !== undefined && anchor !== null) view.jump(anchor);
}

// Spoken tells those who cannot see it that a turn has ended; that something is asked is said where it is asked.
function Spoken() {
  const phase = useView().conversation.head.value?.control.phase;
  const before = useRef(phase);
  const ended = before.current === "running" && phase !== "running" ? phase : undefined;
  const said = useRef("");
  if (ended) said.current = ended === "error" ? t("rows.spoken.failed") : ended === "completedInterrupted" ? t("rows.spoken.stopped") : t("rows.spoken.done");
  if (phase === "running") said.current = "";
  before.current = phase;
  return <p class="unseen" role="status">{said.current}</p>;
}
