import { signal } from "@preact/signals";
import { quarter, second } from "../time";
import { ago, clock, duration, fully, running } from "./units";

// Times are shown as how long ago they were or as the clock told them: one choice for the whole page, made by a tap.
const absolute = signal(localStorage.getItem("times") === "absolute");

function turnOver() {
  absolute.value = !absolute.value;
  localStorage.setItem("times", absolute.value ? "absolute" : "relative");
}

export function When({ at }: { at: number }) {
  const now = Math.max(quarter.value, at);
  return (
    <button type="button" class="when" onClick={turnOver} onPointerEnter={(e) => (e.currentTarget.title = fully(at))}>
      <time dateTime={new Date(at).toISOString()}>{absolute.value ? clock(at, now) : ago(at, now)}</time>
    </button>
  );
}

// Lasting is how long something took, or has taken so far.
export function Lasting({ from, to }: { from: number; to?: number | undefined }) {
  return <span class="lasting">{to === undefined ? running(Math.max(second.value, from) - from) : duration(to - from)}</span>;
}

// Until counts down.
export function Until({ at }: { at: number }) {
  return <span class="lasting">{running(Math.max(at - second.value, 0))}</span>;
}
