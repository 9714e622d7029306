// Where the keyboard is while a question is open. A question never takes the focus from somebody who types; who asked for
// it gets it, and gets back to where they were.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";
import type { Ask } from "../../state/asks";
import { minimised, wanted } from "./sheet";

export const isTyping = (e: Element | null): boolean =>
  e instanceof HTMLTextAreaElement || (e instanceof HTMLElement && e.isContentEditable) || (e instanceof HTMLInputElement && !/^(checkbox|radio|button|submit|range)$/.test(e.type));

const PHONE = "(max-width: 839px)"; // where the sheet covers the page; as in answer.css

/**
 * useQuiet keeps a new question aside while somebody types on a phone, where the sheet would take the place of what they
 * type into. It comes up when they have left the field.
 */
export function useQuiet(ask: Ask | undefined): void {
  useLayoutEffect(() => {
    if (!ask || minimised.peek() || !matchMedia(PHONE).matches) return;
    const field = document.activeElement;
    if (!field || !isTyping(field) || field.closest(".answer-sheet")) return;
    minimised.value = true;
    const left = () => (minimised.value = false);
    field.addEventListener("blur", left, { once: true });
    return () => field.removeEventListener("blur", left);
  }, [ask?.id]);
}

/** useFocus moves the focus in and out of the sheet and gives it its keys. */
export function useFocus(box: RefObject<HTMLElement | null>, ask: Ask) {
  const from = useRef<Element | null>(null);
  const want = wanted.value;
  const last = useRef(0);

  useEffect(() => {
    const asked = want !== last.current;
    last.current = want;
    const active = document.activeElement;
    const nowhere = !active || active === document.body;
    if (!asked && !nowhere) return;
    if (!box.current?.contains(active)) from.current = active;
    box.current?.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
  }, [ask.id, want]);

  useEffect(() => {
    const sheet = box.current;
    return () => {
      const active = document.activeElement;
      if (active && active !== document.body && !sheet?.contains(active)) return;
      const back = from.current;
      if (back instanceof HTMLElement && back.isConnected && back !== document.body) back.focus({ preventScroll: true });
    };
  }, []);

  return (e: KeyboardEvent) => {
    const sheet = box.current;
    if (!sheet || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Escape") {
      e.preventDefault();
      e.stopPropagation();
      minimised.value = true;
    } else if (e.key === "Tab" && matchMedia(PHONE).matches) {
      wrap(e, sheet);
    } else if (!isTyping(e.target as Element)) {
      press(e, sheet);
    }
  };
}

// wrap keeps Tab within a sheet that covers the page; Escape is the way out.
function wrap(e: KeyboardEvent, sheet: HTMLElement): void {
  const stops = [...sheet.querySelectorAll<HTMLElement>("button, input, textarea, select, summary, a[href], [tabindex='0']")].filter((s) => s.checkVisibility?.() ?? true);
  const first = stops[0], last = stops.at(-1);
  const at = document.activeElement;
  if (e.shiftKey && (at === first || at === sheet.querySelector("h2"))) {
    e.preventDefault();
    last?.focus();
  } else if (!e.shiftKey && at === last) {
    e.preventDefault();
    first?.focus();
  }
}

function press(e: KeyboardEvent, sheet: HTMLElement): void {
  if (e.repeat || !/^[a-z]$/i.test(e.key)) return;
  const button = sheet.querySelector<HTMLElement>(`[data-shortcut="${e.key.toUpperCase()}"]`);
  if (!button) return;
  e.preventDefault();
  button.click();
}
