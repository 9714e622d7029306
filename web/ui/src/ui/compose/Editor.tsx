import type { RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import type { SlashCommand } from "../../wire/types";
import { composing, enterSends } from "./keyboard";
import { asked, matching } from "./slash";

const mostLines = 8; // of a phone's screen, more would hide what one is talking about

// The text field of a composer: it grows with the text, knows input methods, takes pasted files, and offers commands after a slash.
export function Editor({ field, text, label, placeholder, commands, onText, onSend, onFiles, onFocus }: {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  label: string;
  placeholder: string;
  commands: readonly SlashCommand[];
  onText: (text: string) => void;
  onSend: () => void;
  onFiles: (files: File[]) => void;
  onFocus?: () => void;
}) {
  const menu = useId();
  const [caret, setCaret] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [closed, setClosed] = useState<string | null>(null); // the text for which the menu was closed by hand
  const typed = asked(text, caret);
  const offered = typed === null || closed === text ? [] : matching(commands, typed);
  const at = Math.min(chosen, offered.length - 1);

  useLayoutEffect(() => fit(field.current!), [text]);
  useLayoutEffect(() => {
    // What is hidden or made narrower has other lines than it had.
    const area = field.current!;
    let width = area.clientWidth;
    const observer = new ResizeObserver(() => {
      if (area.clientWidth === width) return;
      width = area.clientWidth;
      requestAnimationFrame(() => fit(area));
    });
    observer.observe(area);
    return () => observer.disconnect();
  }, []);

  useEffect(() => setChosen(0), [typed]);

  const moveCaret = () => setCaret(field.current?.selectionStart ?? 0);
  function pick(command: SlashCommand): void {
    const whole = `/${command.name.replace(/^\//, "")} `;
    onText(whole);
    setClosed(whole);
    const area = field.current!;
    area.focus();
    queueMicrotask(() => area.setSelectionRange(whole.length, whole.length));
  }

  function onKeyDown(e: KeyboardEvent): void {
    if (composing(e)) return;
    if (offered.length > 0) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step) setChosen((at + step + offered.length) % offered.length);
      else if ((e.key === "Enter" && !e.ctrlKey && !e.metaKey && `/${offered[at]!.name}` !== text.trim()) || e.key === "Tab") pick(offered[at]!);
      else if (e.key === "Escape") setClosed(text);
      else return send(e);
      e.preventDefault();
      return;
    }
    send(e);
  }

  function send(e: KeyboardEvent): void {
    if (e.key !== "Enter" || e.shiftKey || e.altKey) return;
    if (!e.ctrlKey && !e.metaKey && !enterSends.value) return;
    e.preventDefault();
    onSend();
  }

  function onPaste(e: ClipboardEvent): void {
    const files = [...(e.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    e.preventDefault();
    onFiles(files);
  }

  const open = offered.length > 0;
  return (
    <div class="editor">
      <textarea ref={field} rows={1} value={text} placeholder={placeholder} aria-label={label} autocapitalize="sentences"
        enterkeyhint={enterSends.value ? "send" : "enter"} aria-autocomplete="list" aria-controls={open ? menu : undefined}
        aria-activedescendant={open ? `${menu}-${at}` : undefined}
        onInput={(e) => { moveCaret(); onText(e.currentTarget.value); }} onSelect={moveCaret} onKeyDown={onKeyDown} onPaste={onPaste} onFocus={onFocus} />
      {open && (
        <ul id={menu} class="slash" role="listbox" aria-label={t("compose.slash")}>
          {offered.map((c, i) => (
            <li key={c.name} id={`${menu}-${i}`} role="option" aria-selected={i === at} ref={(li) => { if (i === at) li?.scrollIntoView({ block: "nearest" }); }}
              onPointerDown={(e) => e.preventDefault()} onClick={() => pick(c)}>
              <b>/{c.name.replace(/^\//, "")}</b> <span>{c.description}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

// fit makes the field as high as its text.
function fit(area: HTMLTextAreaElement): void {
  const line = parseFloat(getComputedStyle(area).lineHeight) || 24;
  area.style.height = "auto";
  const room = mostLines * line + area.offsetHeight - area.clientHeight + paddings(area);
  area.style.height = `${Math.min(area.scrollHeight + area.offsetHeight - area.clientHeight, room)}px`;
  area.style.overflowY = area.scrollHeight > room ? "auto" : "hidden";
}

function paddings(area: HTMLElement): number {
  const style = getComputedStyle(area);
  return parseFloat(style.paddingTop) + parseFloat(style.paddingBottom) || 0;
}
