// The few signs of the composer, drawn in the colour of the text beside them.

const Icon = ({ d }: { d: string }) => (
  <svg class="sign" viewBox="0 0 24 24" aria-hidden="true"><path d={d} /></svg>
);

export const Plus = () => <Icon d="M12 5v14M5 12h14" />;
export const Send = () => <Icon d="M12 19V5M6 11l6-6 6 6" />;
export const Stop = () => <Icon d="M7 7h10v10H7z" />;
export const Down = () => <Icon d="m7 10 5 5 5-5" />;
export const Up = () => <Icon d="m7 14 5-5 5 5" />;
export const Pencil = () => <Icon d="M4 20h4L19 9l-4-4L4 16zM13 7l4 4" />;
export const Cross = () => <Icon d="m6 6 12 12M18 6 6 18" />;
export const Now = () => <Icon d="M13 3 5 14h6l-1 7 8-11h-6z" />;
export const Dots = () => <Icon d="M5 12h.01M12 12h.01M19 12h.01" />;
export const Camera = () => <Icon d="M4 8h4l2-3h4l2 3h4v11H4zM12 16.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6z" />;
export const Picture = () => <Icon d="M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01" />;
export const Page = () => <Icon d="M6 3h8l4 4v14H6zM14 3v4h4" />;
export const Fold = () => <Icon d="M8 4l4 4 4-4M8 20l4-4 4 4M4 12h16" />;
