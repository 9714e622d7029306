import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { t } from "../../i18n";
import { maxBytes, maxFiles, uploads, type Upload, type UploadFate } from "../../state/attachments";
import { drafts, type KeptFile } from "../../state/drafts";
import { Camera, Cross, Page, Picture } from "./icons";
import { Item } from "./Menu";
import { uploadFault } from "./words";

// The files that will go with the prompt, and how far they are.
export function Files({ draftKey, sessionId }: { draftKey: string; sessionId: string | null }) {
  const list = uploads.of(draftKey).value;
  const draft = drafts.of(draftKey);
  const fresh = new Set(list.map((u) => u.fate.value).flatMap((f) => (f.kind === "ready" ? [f.file.ref] : [])));
  const kept = (draft.value.files ?? []).filter((f) => !fresh.has(f.ref));
  if (list.length + kept.length === 0) return null;
  const forget = (file: KeptFile) => (draft.value = { ...draft.peek(), files: draft.peek().files?.filter((f) => f.ref !== file.ref) });
  return (
    <ul class="files" aria-label={t("compose.files")}>
      {kept.map((f) => (
        <Chip key={f.ref} name={f.fileName} picture={f.mime.startsWith("image/")} preview={null} state={t("compose.file.ready")} onRemove={() => forget(f)} />
      ))}
      {list.map((u) => (
        <Uploading key={u.id} upload={u} onRetry={() => uploads.retry(u, sessionId)}
          onRemove={() => {
            const fate = u.fate.peek();
            uploads.remove(draftKey, u, sessionId);
            if (fate.kind === "ready") forget(fate.file);
          }} />
      ))}
    </ul>
  );
}

function Uploading({ upload, onRemove, onRetry }: { upload: Upload; onRemove: () => void; onRetry: () => void }) {
  const fate = upload.fate.value;
  return (
    <Chip name={upload.fileName} preview={upload.preview} state={stateOf(fate, upload.bytes)} bad={fate.kind === "failed"} onRemove={onRemove}>
      {fate.kind === "uploading" && <progress max={upload.bytes} value={fate.done} aria-label={t("compose.file.progress", { name: upload.fileName })} />}
      {fate.kind === "failed" && upload.bytes > 0 && upload.bytes <= maxBytes && (
        <button type="button" class="text-button" aria-label={t("compose.file.again", { name: upload.fileName })} onClick={onRetry}>{t("compose.again")}</button>
      )}
    </Chip>
  );
}

function Chip({ name, preview, picture, state, bad, onRemove, children }: {
  name: string;
  preview: string | null;
  picture?: boolean;
  state: string;
  bad?: boolean;
  onRemove: () => void;
  children?: ComponentChildren;
}) {
  return (
    <li class={bad ? "upload bad" : "upload"}>
      {preview ? <img src={preview} alt="" /> : <span class="upload-sign">{picture ? <Picture /> : <Page />}</span>}
      <span class="upload-text">
        <span class="upload-name" title={name}>{name}</span>
        <small>{state}</small>
        {children}
      </span>
      <button type="button" class="icon-button" aria-label={t("compose.file.remove", { name })} onClick={onRemove}><Cross /></button>
    </li>
  );
}

function stateOf(fate: UploadFate, bytes: number): string {
  switch (fate.kind) {
    case "uploading":
      return t("compose.file.uploading", { percent: Math.floor((fate.done / bytes) * 100) });
    case "failed":
      return uploadFault(fate.code);
    default:
      return t(`compose.file.${fate.kind}`);
  }
}

// take brings files into a composer; it says how many were left out because there are too many.
export function take(draftKey: string, sessionId: string | null, files: readonly File[]): number {
  const room = maxFiles - uploads.of(draftKey).peek().length - (drafts.of(draftKey).peek().files?.length ?? 0);
  for (const file of files.slice(0, Math.max(0, room))) uploads.add(draftKey, sessionId, file);
  return Math.max(0, files.length - room);
}

// Where files come from: the camera, the pictures, or anywhere. The inputs are apart from the menu's lines, since a menu
// closes, and takes what is in it away, before the file is chosen.
export function useFilePicker(onFiles: (files: File[]) => void) {
  const camera = useRef<HTMLInputElement>(null);
  const picture = useRef<HTMLInputElement>(null);
  const any = useRef<HTMLInputElement>(null);
  const chosen = (e: Event) => {
    const input = e.currentTarget as HTMLInputElement;
    const files = [...(input.files ?? [])];
    input.value = ""; // so that the same file can be chosen again
    if (files.length) onFiles(files);
  };
  const inputs = (
    <>
      <input ref={camera} type="file" accept="image/*" capture="environment" hidden onChange={chosen} />
      <input ref={picture} type="file" accept="image/*" multiple hidden onChange={chosen} />
      <input ref={any} type="file" multiple hidden onChange={chosen} />
    </>
  );
  const lines = (close: () => void) => {
    const pick = (input: HTMLInputElement | null) => () => { close(); input?.click(); };
    return (
      <>
        {matchMedia("(pointer: coarse)").matches && <Item icon={<Camera />} label={t("compose.photo")} onPick={pick(camera.current)} />}
        <Item icon={<Picture />} label={t("compose.picture")} onPick={pick(picture.current)} />
        <Item icon={<Page />} label={t("compose.file")} hint={t("compose.filesHint", { n: maxFiles })} onPick={pick(any.current)} />
      </>
    );
  };
  return { inputs, lines };
}
