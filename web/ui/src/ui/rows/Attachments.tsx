import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { live } from "../../wire/link";
import type { Attachment, Row } from "../../wire/types";
import { isPicture, read, type Source } from "./files";
import { Icon } from "./Icon";
import { inert, plain } from "./inert";
import { size } from "./units";
import { useView } from "./view";

// Pictures up to this size come by themselves; larger ones wait for a tap, somebody may pay for each megabyte.
const unasked = 512 << 10;

export function Attachments({ list, row }: { list: Attachment[]; row: Row }) {
  return (
    <ul class="attachments">
      {list.map((file, i) => (
        <li key={file.ref}>{isPicture(file.mime) ? <Picture of={file} row={row} index={i} /> : <Download of={file} row={row} index={i} />}</li>
      ))}
    </ul>
  );
}

interface FileProps {
  of: Attachment;
  row: Row;
  index?: number;
  named?: boolean; // its name stands beside the button
}

// useFile reads a file when asked to. Its address goes when what shows it goes.
function useFile({ of, row, index }: FileProps) {
  const { conversation } = useView();
  const [url, show] = useState("");
  const [share, tell] = useState<number | "failed" | null>(null);
  const gone = useRef(false);
  useEffect(() => () => {
    gone.current = true;
  }, []);
  useEffect(() => () => {
    if (url) URL.revokeObjectURL(url);
  }, [url]);
  const load = async () => {
    tell(0);
    const source: Source = { sessionId: conversation.id, ref: of.ref, target: { rowId: row.rowId, entityId: row.entityId }, ...(index !== undefined && { index }) };
    try {
      const blob = await read(source, (s) => gone.current || tell(s));
      if (gone.current) return null;
      tell(null);
      const made = URL.createObjectURL(isPicture(blob.type) ? blob : new Blob([blob], { type: "application/octet-stream" }));
      show(made);
      return made;
    } catch {
      if (!gone.current) tell("failed");
      return null;
    }
  };
  return { url, share, load };
}

function Picture(props: FileProps) {
  const { of } = props;
  const { url, share, load } = useFile(props);
  useEffect(() => {
    if (of.bytes <= unasked && live.peek()) void load();
  }, [of.ref]);
  if (url) return <img class="picture" src={url} alt={plain(of.fileName)} />;
  return (
    <button type="button" class="file" onClick={load} disabled={typeof share === "number" || !live.value}>
      <Icon of="file" /> {inert(of.fileName)} <State share={share} bytes={of.bytes} idle={t("rows.showPicture")} />
    </button>
  );
}

export function Download(props: FileProps) {
  const { of, named } = props;
  const { share, load } = useFile(props);
  const save = async () => {
    const url = await load();
    if (!url) return;
    const a = document.createElement("a");
    a.href = url;
    a.download = plain(of.fileName).replace(/[/\\]/g, "_");
    a.click();
  };
  return (
    <button type="button" class="file" onClick={save} disabled={typeof share === "number" || !live.value}>
      <Icon of="down" /> {named ? <span class="unseen">{inert(of.fileName)}</span> : inert(of.fileName)} <State share={share} bytes={of.bytes} idle={t("rows.save")} />
    </button>
  );
}

function State({ share, bytes, idle }: { share: number | "failed" | null; bytes: number; idle: string }) {
  return <span class="faint">{share === "failed" ? t("rows.notLoaded") : share === null ? `${size(bytes)} · ${idle}` : `${Math.round(share * 100)} %`}</span>;
}
