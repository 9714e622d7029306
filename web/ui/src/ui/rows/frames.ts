// What streams in is shown once a frame, however often it changes. When a frame's work takes long, the next one waits as
// long again: at least half of the time stays for whoever touches the page.

import { effect, signal, type ReadonlySignal } from "@preact/signals";

const due = new Set<() => void>();
let asked = false;
let rested = 0; // performance.now() from when on the next frame may work

// Work shorter than this (ms) fits between two frames of any screen.
const light = 6;

export function onFrame(f: () => void): void {
  due.add(f);
  if (!asked) ask();
}

function ask() {
  asked = true;
  requestAnimationFrame(run);
}

function run() {
  if (performance.now() < rested) return ask();
  asked = false;
  const started = performance.now();
  const fs = [...due];
  due.clear();
  for (const f of fs) f();
  after(() => {
    const took = performance.now() - started;
    rested = took > light ? performance.now() + took : 0;
  });
}

// after runs f when what the frame set off (rendering, layout, painting) is done.
const channel = new MessageChannel();
let then = () => {};
channel.port1.onmessage = () => then();
function after(f: () => void) {
  then = f;
  channel.port2.postMessage(0);
}

// framed follows a signal, a frame at a time. The second result ends it.
export function framed<T>(source: ReadonlySignal<T>): [ReadonlySignal<T>, () => void] {
  const shown = signal(source.peek());
  const show = () => {
    shown.value = source.peek();
  };
  const stop = effect(() => {
    if (source.value !== shown.peek()) onFrame(show);
  });
  return [shown, () => (stop(), due.delete(show))];
}
