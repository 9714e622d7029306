// Small pictures in the colour of the text beside them. They say nothing that the text does not say.

const paths = {
  fold: "M6 4l4 4-4 4",
  done: "M3 8.5l3.2 3.2L13 5",
  failed: "M4 4l8 8M12 4l-8 8",
  stopped: "M5 5h6v6H5z",
  waits: "M8 4v5M8 11.4v.1",
  copy: "M6 6h7v7H6zM3 10V3h7",
  down: "M8 3v10M4 9l4 4 4-4",
  up: "M8 13V3M4 7l4-4 4 4",
  fork: "M5 4.5v7M5 8c6 0 6-1 6-3.5M3.5 3h3v1.5h-3zM9.5 3h3v1.5h-3zM3.5 11.5h3V13h-3z",
  edit: "M3 13l1-3.5L10.5 3 13 5.5 6.5 12z",
  retry: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5v3h-3",
  person: "M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3.5 13.5c.5-3 2.5-4 4.5-4s4 1 4.5 4",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  agent: "M4 6h8v6H4zM8 6V3M6.5 9v.1M9.5 9v.1",
  mark: "M8 3v10M3 8h10",
  like: "M3 7.5h2v6H3zM5 12.8l1.2.7h4.6c.8 0 1.3-.5 1.4-1.2l.7-3.8c.1-.8-.4-1.4-1.2-1.4H9V4.2c0-1-.6-1.7-1.5-1.7L5 7.9",
  dislike: "M13 8.5h-2v-6h2zM11 3.2l-1.2-.7H5.2c-.8 0-1.3.5-1.4 1.2l-.7 3.8c-.1.8.4 1.4 1.2 1.4H7v2.9c0 1 .6 1.7 1.5 1.7L11 8.1",
  thought: "M4 8h.1M8 8h.1M12 8h.1",
};

export type Picture = keyof typeof paths | "busy";

export function Icon({ of }: { of: Picture }) {
  if (of === "busy") return <span class="icon i-busy" aria-hidden="true" />;
  return (
    <svg class={`icon i-${of}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[of]} />
    </svg>
  );
}
