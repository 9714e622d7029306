// Line drawings of 24×24; they say nothing to a screen reader, their buttons do.
const PATHS = {
  back: "M15 5l-7 7 7 7",
  plus: "M12 5v14M5 12h14",
  gear: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10.3 5.1L10.5 2.5L13.5 2.5L13.7 5.1L15.7 5.9L17.6 4.2L19.8 6.4L18.1 8.3L18.9 10.3L21.5 10.5L21.5 13.5L18.9 13.7L18.1 15.7L19.8 17.6L17.6 19.8L15.7 18.1L13.7 18.9L13.5 21.5L10.5 21.5L10.3 18.9L8.3 18.1L6.4 19.8L4.2 17.6L5.9 15.7L5.1 13.7L2.5 13.5L2.5 10.5L5.1 10.3L5.9 8.3L4.2 6.4L6.4 4.2L8.3 5.9z",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L20 20",
  close: "M6 6l12 12M18 6L6 18",
};

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width={name === "more" ? 3 : 1.8} stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
