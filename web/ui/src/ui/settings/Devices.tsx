import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { language, t } from "../../i18n";
import { lastHello } from "../../state/link";
import { live } from "../../wire/link";
import { age } from "../time";

interface Device {
  id: string;
  name: string;
  role: string;
  live: boolean;
  sessions?: string[];
  workspaces?: string[];
  lastSeen?: string;
  lastAddr?: string;
  userAgent?: string;
  expiresAt: string;
}

interface Pairing {
  id: string;
  link: string;
  qr: string[];
  expiresAt: string;
}

const ROLES = ["operator", "approver", "viewer", "admin"] as const;

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, { method, ...(body !== undefined && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }) });
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.error?.message ?? `HTTP ${response.status}`);
  return answer;
}

// Who may come in, taking that away, and a link that lets a new one in. For admins.
export function Devices() {
  const devices = useSignal<Device[] | null>(null);
  const failure = useSignal("");
  const pairing = useSignal<Pairing | null>(null);

  const attempt = async (what: () => Promise<unknown>) => {
    failure.value = "";
    try {
      await what();
    } catch (error) {
      failure.value = (error as Error).message;
    }
  };
  const refresh = async () => {
    const answer = await ask<{ devices: Device[] }>("GET", "api/devices");
    devices.value = answer.devices.filter((d) => d.live);
  };
  useEffect(() => void (live.value && attempt(refresh)), [live.value]);
  useEffect(() => {
    if (!pairing.value) return;
    const timer = setTimeout(() => (pairing.value = null), new Date(pairing.value.expiresAt).getTime() - Date.now());
    return () => clearTimeout(timer);
  }, [pairing.value]);

  return (
    <section class="setting">
      <h2>{t("devices.title")}</h2>
      {devices.value === null ? <p class="hint">{t("devices.away")}</p> : (
        <ul class="devices">
          {devices.value.map((d) => <Row key={d.id} device={d} act={(what) => attempt(async () => (await what(), await refresh()))} />)}
        </ul>
      )}
      {pairing.value
        ? <Link pairing={pairing.value} onBack={() => void attempt(async () => (await ask("DELETE", `api/pairings/${pairing.value!.id}`), (pairing.value = null)))} />
        : <Pair onPair={(name, role) => void attempt(async () => (pairing.value = await ask<Pairing>("POST", "api/pairings", { name, role })))} />}
      {failure.value && <p class="notice notice-bad" role="alert">{failure.value}</p>}
    </section>
  );
}

function Row({ device: d, act }: { device: Device; act: (what: () => Promise<unknown>) => void }) {
  const doing = useSignal<"" | "rename" | "revoke">("");
  const name = useSignal(d.name);
  const here = lastHello.value?.principal.device === d.id || lastHello.value?.principal.name === d.name;
  const limits = [...(d.sessions ?? []), ...(d.workspaces ?? [])].join(", ");
  const about = [
    d.role,
    limits && t("devices.only", { what: limits }),
    d.lastSeen ? t("devices.seen", { when: age(new Date(d.lastSeen).getTime()), from: d.lastAddr ?? "?" }) : t("devices.never"),
    t("devices.ends", { date: new Date(d.expiresAt).toLocaleDateString(language.value) }),
  ];
  return (
    <li class="device">
      <div class="device-text">
        <strong dir="auto">{d.name}</strong>{here && <span class="tag">{t("devices.here")}</span>}
        <small>{about.filter(Boolean).join(" · ")}</small>
        {d.userAgent && <small class="device-agent" dir="ltr">{d.userAgent}</small>}
      </div>
      {doing.value === "rename" ? (
        <form class="row" onSubmit={(e) => (e.preventDefault(), act(() => ask("POST", `api/devices/${d.id}/rename`, { name: name.value.trim() })), (doing.value = ""))}>
          <input aria-label={t("devices.newName")} value={name.value} maxLength={100} onInput={(e) => (name.value = e.currentTarget.value)} />
          <button class="plain" disabled={!live.value || !name.value.trim()}>{t("do.save")}</button>
          <button type="button" class="plain" onClick={() => (doing.value = "")}>{t("do.cancel")}</button>
        </form>
      ) : doing.value === "revoke" ? (
        <div class="row">
          <span>{t("devices.revokeSure", { name: d.name })}</span>
          <button type="button" class="plain" onClick={() => (doing.value = "")}>{t("do.cancel")}</button>
          <button type="button" class="danger" disabled={!live.value} onClick={() => act(() => ask("POST", `api/devices/${d.id}/revoke`))}>{t("devices.revoke")}</button>
        </div>
      ) : (
        <div class="row">
          <button type="button" class="plain" disabled={!live.value} onClick={() => (doing.value = "rename")}>{t("devices.rename")}</button>
          <button type="button" class="plain" disabled={!live.value} onClick={() => (doing.value = "revoke")}>{t("devices.revoke")}</button>
        </div>
      )}
    </li>
  );
}

function Pair({ onPair }: { onPair: (name: string, role: string) => void }) {
  const name = useSignal(""), role = useSignal<string>("operator");
  return (
    <form class="stack apart" onSubmit={(e) => (e.preventDefault(), onPair(name.value.trim(), role.value))}>
      <h3>{t("devices.pair")}</h3>
      <label class="field">
        <span>{t("devices.pair.name")}</span>
        <input value={name.value} maxLength={100} autocomplete="off" onInput={(e) => (name.value = e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>{t("devices.pair.role")}</span>
        <select value={role.value} onChange={(e) => (role.value = e.currentTarget.value)}>
          {ROLES.map((r) => <option key={r} value={r}>{t(`devices.role.${r}`)}</option>)}
        </select>
      </label>
      <button class="primary" disabled={!live.value}>{t("devices.pair.go")}</button>
    </form>
  );
}

function Link({ pairing, onBack }: { pairing: Pairing; onBack: () => void }) {
  const copied = useSignal(false);
  return (
    <div class="stack apart pairing" role="status">
      <QR rows={pairing.qr} />
      <p>{t("devices.pair.good", { time: new Date(pairing.expiresAt).toLocaleTimeString(language.value) })}</p>
      <code class="pairing-link">{pairing.link}</code>
      <div class="row">
        {navigator.clipboard && (
          <button type="button" class="plain" onClick={() => void navigator.clipboard.writeText(pairing.link).then(() => (copied.value = true))}>{copied.value ? t("do.copied") : t("do.copy")}</button>
        )}
        <button type="button" class="plain" onClick={onBack}>{t("devices.pair.takeBack")}</button>
      </div>
    </div>
  );
}

// QR draws rows of 0 and 1, dark on light in every colour scheme, with the margin of 4 modules that the standard asks for.
function QR({ rows }: { rows: string[] }) {
  const size = rows.length + 8;
  const dark = rows.flatMap((row, y) => [...row].map((bit, x) => (bit === "1" ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t("devices.pair.qr")} shape-rendering="crispEdges">
      <path d={`M0 0h${size}v${size}h-${size}z`} fill="#fff" />
      <path d={dark} fill="#000" />
    </svg>
  );
}
