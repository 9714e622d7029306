// Draws public/*.png from the same shapes as public/icon.svg, without a picture library: node icons.mjs
import { writeFileSync } from "node:fs";
import { deflateSync } from "node:zlib";

const SAMPLES = 4; // in each direction; edges are smooth
const BLUE = [0x1f, 0x5f, 0xbf], WHITE = [255, 255, 255];

// distance from p to the segment a–b, in the 64×64 space of the drawing
function toSegment(px, py, [ax, ay, bx, by]) {
  const dx = bx - ax, dy = by - ay;
  const t = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

const LINES = [[32, 32, 16, 16], [32, 32, 48, 16], [32, 32, 32, 52]];
const DISCS = [[32, 32, 9], [15, 15, 5.5], [49, 15, 5.5], [32, 52, 5.5]];
const drawn = (x, y) => LINES.some((l) => toSegment(x, y, l) <= 2) || DISCS.some(([cx, cy, r]) => Math.hypot(x - cx, y - cy) <= r);

function inTile(x, y, radius) {
  const dx = Math.max(radius - x, x - (64 - radius), 0), dy = Math.max(radius - y, y - (64 - radius), 0);
  return Math.hypot(dx, dy) <= radius;
}

// kind: tile (round corners), full (the platform cuts the corners; the drawing keeps clear of them), badge (white on nothing)
function picture(size, kind) {
  const scale = kind === "full" ? 0.72 : 1;
  const rows = [];
  for (let y = 0; y < size; y++) {
    const row = Buffer.alloc(1 + size * 4);
    for (let x = 0; x < size; x++) {
      let tile = 0, ink = 0;
      for (let i = 0; i < SAMPLES * SAMPLES; i++) {
        const u = ((x + ((i % SAMPLES) + 0.5) / SAMPLES) / size) * 64, v = ((y + (Math.floor(i / SAMPLES) + 0.5) / SAMPLES) / size) * 64;
        if (kind === "full" || (kind === "tile" && inTile(u, v, 14))) tile++;
        if (drawn(32 + (u - 32) / scale, 32 + (v - 32) / scale)) ink++;
      }
      const n = SAMPLES * SAMPLES, mix = ink / n;
      const colour = kind === "badge" ? WHITE : BLUE.map((c, i) => Math.round(c + (WHITE[i] - c) * mix));
      row.set([...colour, Math.round(255 * (kind === "badge" ? mix : tile / n))], 1 + x * 4);
    }
    rows.push(row);
  }
  return png(size, Buffer.concat(rows));
}

function png(size, raw) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 6, 0, 0, 0], 8); // 8 bits, RGBA
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", header), chunk("IDAT", deflateSync(raw, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(8 + data.length + 4);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), 8 + data.length);
  return out;
}

function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

const pictures = { "icon-180.png": [180, "full"], "icon-192.png": [192, "tile"], "icon-512.png": [512, "tile"], "icon-maskable-512.png": [512, "full"], "badge-96.png": [96, "badge"] };
for (const [name, [size, kind]] of Object.entries(pictures)) writeFileSync(new URL(`public/${name}`, import.meta.url), picture(size, kind));
