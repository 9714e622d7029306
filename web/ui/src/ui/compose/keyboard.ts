// Keyboards: the one on the screen, and what Enter does.

import { effect, signal } from "@preact/signals";
import { browserStore } from "../../state/drafts";

// watchKeyboard keeps --keyboard, the height that an on-screen keyboard takes from the page. Browsers that shrink the page
// itself leave it at 0; Safari lays the keyboard over the page and moves what is behind.
export function watchKeyboard(): () => void {
  const view = window.visualViewport;
  if (!view) return () => {};
  const measure = () => {
    const hidden = view.scale > 1.01 ? 0 : window.innerHeight - view.height - view.offsetTop; // zoomed in is no keyboard
    document.documentElement.style.setProperty("--keyboard", `${Math.max(0, Math.round(hidden))}px`);
  };
  view.addEventListener("resize", measure);
  view.addEventListener("scroll", measure);
  measure();
  return () => {
    view.removeEventListener("resize", measure);
    view.removeEventListener("scroll", measure);
    document.documentElement.style.removeProperty("--keyboard");
  };
}

const key = "hub.enterSends";
const kept = browserStore()?.getItem(key);

// With a real keyboard Enter sends; where fingers point it makes a new line, since there the button is under the thumb.
export const enterSends = signal(kept ? kept === "yes" : !matchMedia("(pointer: coarse)").matches);

let first = true;
effect(() => {
  const sends = enterSends.value;
  if (first) return void (first = false);
  try {
    browserStore()?.setItem(key, sends ? "yes" : "no");
  } catch {
    // Then it holds until the page is closed.
  }
});

// An input method that composes a character uses Enter to choose it; Safari says so only by the key code.
export const composing = (e: KeyboardEvent) => e.isComposing || e.keyCode === 229;
