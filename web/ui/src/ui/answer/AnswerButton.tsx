import { answer, type Ask, type Choice } from "../../state/asks";
import { t } from "../../i18n";
import { live } from "../../wire/link";

interface Props {
  ask: Ask;
  choice: () => Choice | null; // null: there is nothing to send yet
  name: string; // the choice's key
  label: string;
  tone: "yes" | "no" | "plain";
  shortcut?: "A" | "R";
}

/** A button that answers, and then tells itself what becomes of the answer. */
export function AnswerButton({ ask, choice, name, label, tone, shortcut }: Props) {
  const fate = ask.fate.value;
  const own = "sent" in fate && fate.sent?.key === name;
  const open = fate.kind === "open";
  const tap = () => {
    const chosen = open ? choice() : null;
    if (chosen) answer(ask.requestId, chosen);
  };
  return (
    <button
      type="button"
      class={`answer-button ${tone}${own ? " chosen" : ""}${live.value ? "" : " stale"}`}
      aria-disabled={!open}
      aria-keyshortcuts={shortcut}
      data-shortcut={shortcut}
      data-fate={own ? fate.kind : undefined}
      onClick={tap}
    >
      <span>{own ? fateText(fate.kind, label) : label}</span>
      {shortcut && open && <kbd aria-hidden="true">{shortcut}</kbd>}
    </button>
  );
}

function fateText(kind: string, label: string): string {
  switch (kind) {
    case "kept":
      return t("answer.fate.kept", { label });
    case "sending":
      return t(live.value ? "answer.fate.sending" : "answer.fate.cut", { label });
    case "sent":
      return t("answer.fate.sent", { label });
  }
  return label;
}
