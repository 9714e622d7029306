// What waits, told outside of the page: in the tab's title, its icon, and the badge of an installed app.

import { effect } from "@preact/signals";
import { waiting } from "../../state/asks";

const pageName = "hub"; // what the tab is called when nothing waits

export function startBadge(): () => void {
  return effect(() => {
    const n = waiting.value.length;
    document.title = n > 0 ? `(${n}) ${pageName}` : pageName;
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    const href = n > 0 ? "icon-waiting.svg" : "icon.svg";
    if (icon && icon.getAttribute("href") !== href) icon.setAttribute("href", href);
    badge(n);
  });
}

// badge: not every browser has one, and those that do may refuse.
function badge(n: number): void {
  const done = n > 0 ? navigator.setAppBadge?.(n) : navigator.clearAppBadge?.();
  done?.catch(() => {});
}
