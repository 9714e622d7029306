// A second hand for ages and countdowns. It stops while the connection is cut, since nobody knows then what goes on.

import { effect, signal, type ReadonlySignal } from "@preact/signals";
import { link, live } from "../../wire/link";

const hand = signal(link.now());

/** now is the hub's time, by the second. */
export const now: ReadonlySignal<number> = hand;

effect(() => {
  if (!live.value) return;
  hand.value = link.now();
  const ticking = setInterval(() => (hand.value = link.now()), 1000);
  return () => clearInterval(ticking);
});
