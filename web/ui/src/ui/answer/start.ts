// What answering does apart from its sheet: it listens to the hub, tells outside of the page, and has one key of its own.

import { startAsks, waiting } from "../../state/asks";
import { startBadge } from "./badge";
import { jump } from "./sheet";

/** startAnswering is called once, at boot. */
export function startAnswering(): void {
  startAsks();
  startBadge();
  document.addEventListener("keydown", (e) => {
    if (e.code !== "KeyQ" || !e.altKey || e.ctrlKey || e.metaKey || waiting.peek().length === 0) return;
    e.preventDefault();
    jump();
  });
}
