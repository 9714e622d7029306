// Devices, for admins: who may come in, taking that away, and a link that lets a new one in.

import { element } from "./transcript.js";

const $ = (id) => document.getElementById(id);

async function ask(method, path, body) {
  const response = await fetch(path, { method, headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.error?.message || `The hub answered ${response.status}.`);
  return answer;
}

export class Devices {
  // attempt(what) runs what a button asked for and shows why it failed.
  constructor(attempt) {
    this.attempt = attempt;
    $("devices").addEventListener("toggle", () => $("devices").open ? attempt(() => this.refresh()) : this.hideLink());
    $("pair").addEventListener("submit", (e) => {
      e.preventDefault();
      attempt(() => this.pair());
    });
  }

  // allow shows the part to those who may use it.
  allow(allowed) {
    $("devices").hidden = !allowed;
    if (!allowed) $("devices").open = false;
  }

  async refresh() {
    const { devices } = await ask("GET", "api/devices");
    $("device-list").replaceChildren(...devices.filter((d) => d.live).map((d) => this.row(d)));
  }

  row(device) {
    const seen = device.lastSeen ? `last seen ${new Date(device.lastSeen).toLocaleString()} from ${device.lastAddr}` : "never seen";
    const limits = [...device.sessions || [], ...device.workspaces || []].join(", ");
    const about = [device.role, limits && `only ${limits}`, seen, device.userAgent, `ends ${new Date(device.expiresAt).toLocaleDateString()}`];
    const act = (text, what) => element("button", { type: "button", textContent: text, onclick: () => this.attempt(what) });
    return element("li", {}, element("strong", { textContent: device.name }), element("br"), element("small", { textContent: about.filter(Boolean).join(" · ") }),
      element("div", { className: "buttons" },
        act("Rename", async () => {
          const name = prompt(`New name of ${device.name}`, device.name)?.trim();
          if (name) await ask("POST", `api/devices/${device.id}/rename`, { name });
          await this.refresh();
        }),
        act("Revoke", async () => {
          if (!confirm(`Revoke ${device.name}? It cannot come in again.`)) return;
          await ask("POST", `api/devices/${device.id}/revoke`);
          await this.refresh();
        })));
  }

  async pair() {
    const { id, link, qr, expiresAt } = await ask("POST", "api/pairings", { name: $("pair-name").value.trim(), role: $("pair-role").value });
    const cancel = element("button", { type: "button", textContent: "Take it back", onclick: () => this.attempt(async () => {
      await ask("DELETE", `api/pairings/${id}`);
      this.hideLink();
    }) });
    $("pairing").replaceChildren(code(qr), element("p", {}, element("code", { textContent: link })),
      element("p", { textContent: `Good for one device until ${new Date(expiresAt).toLocaleTimeString()}.` }), cancel);
    clearTimeout(this.forget);
    this.forget = setTimeout(() => this.hideLink(), new Date(expiresAt) - Date.now());
  }

  hideLink() {
    $("pairing").replaceChildren();
  }
}

// code draws a QR code from rows of 0 and 1, dark on light in every colour scheme.
function code(rows) {
  const make = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const size = rows.length + 8; // a margin of 4 modules, as the standard asks for
  const dark = rows.flatMap((row, y) => [...row].map((bit, x) => bit === "1" ? `M${x + 4} ${y + 4}h1v1h-1z` : "")).join("");
  const svg = make("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "QR code of the pairing link", "shape-rendering": "crispEdges" });
  svg.append(make("path", { d: `M0 0h${size}v${size}h-${size}z`, fill: "#fff" }), make("path", { d: dark, fill: "#000" }));
  return svg;
}
