import { useEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import { Icon } from "./Icon";

// Copy puts a text on the clipboard and says that it did.
export function Copy({ text, label }: { text: () => string; label: string }) {
  const [fate, tell] = useState<"" | "done" | "failed">("");
  useEffect(() => {
    if (!fate) return;
    const later = setTimeout(() => tell(""), 2000); // long enough to be seen
    return () => clearTimeout(later);
  }, [fate]);
  const copy = () => write(text()).then(() => tell("done"), () => tell("failed"));
  const said = fate === "done" ? t("rows.copied") : fate === "failed" ? t("rows.notCopied") : label;
  return (
    <button type="button" class="quiet copy" onClick={copy} aria-label={said} title={said}>
      <Icon of={fate || "copy"} />
    </button>
  );
}

// write also works where a page over plain http has no clipboard of its own.
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  const before = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  if (!done) throw new Error("no clipboard");
}
