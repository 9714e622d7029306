import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

// A button that opens a panel: at the button on a wide screen, from below on a narrow one. Escape or a tap elsewhere closes
// it and gives the focus back.
// The name is what the panel is called, and the button too unless words on its face say what it is.
export function Menu({ name, face, words, class: className, disabled, children }: {
  name: string;
  face: ComponentChildren;
  words?: boolean;
  class?: string;
  disabled?: boolean;
  children: (close: () => void) => ComponentChildren;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  useEffect(() => {
    if (!open || !panel.current || !button.current) return;
    place(panel.current, button.current);
    focusables(panel.current).find((e) => e.getAttribute("aria-checked") !== "false")?.focus();
  }, [open]);

  const close = () => panel.current?.hidePopover();
  return (
    <>
      <button ref={button} type="button" class={className} aria-label={words ? undefined : name} title={name} aria-haspopup="dialog" aria-expanded={open} disabled={disabled}
        popovertarget={id}>{face}</button>
      <div ref={panel} id={id} popover="auto" role="dialog" aria-label={name} class="menu-panel"
        onToggle={(e) => setOpen(e.newState === "open")} onKeyDown={(e) => panel.current && arrows(e, panel.current)}>
        {open && children(close)}
      </div>
    </>
  );
}

// place puts the panel above its button, or below it where there is more room.
function place(panel: HTMLElement, button: HTMLElement): void {
  const style = panel.style;
  style.cssText = "";
  if (matchMedia("(max-width: 639px)").matches) return;
  const at = button.getBoundingClientRect();
  const margin = 8;
  style.left = `${Math.max(margin, Math.min(at.left, innerWidth - panel.offsetWidth - margin))}px`;
  const above = at.top > innerHeight - at.bottom;
  style.maxHeight = `${(above ? at.top : innerHeight - at.bottom) - 2 * margin}px`;
  if (above) style.bottom = `${innerHeight - at.top + 4}px`;
  else style.top = `${at.bottom + 4}px`;
}

const focusables = (panel: HTMLElement) => [...panel.querySelectorAll<HTMLElement>("button:not(:disabled), input:not(:disabled)")];

function arrows(e: KeyboardEvent, panel: HTMLElement): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!step) return;
  const all = focusables(panel);
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[(at + step + all.length) % all.length]?.focus();
  e.preventDefault();
}

// One line of a panel.
export function Item({ label, hint, icon, checked, disabled, destroys, onPick }: {
  label: string;
  hint?: string;
  icon?: ComponentChildren;
  checked?: boolean;
  disabled?: boolean;
  destroys?: boolean;
  onPick: () => void;
}) {
  return (
    <button type="button" class={destroys ? "menu-item destroys" : "menu-item"} disabled={disabled} onClick={onPick}
      {...(checked !== undefined && { role: "radio", "aria-checked": checked })}>
      {icon}
      <span class="menu-text">
        <span>{label}</span>
        {hint && <small>{hint}</small>}
      </span>
      {checked && <span aria-hidden="true" class="tick">✓</span>}
    </button>
  );
}
