// Builds the page into ../dist, or into the folder named by --out. The same sources give the same bytes, wherever
// they lie: CI compares.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const named = process.argv.indexOf("--out");
const out = named > 0 ? process.argv[named + 1] : join(here, "../dist");

const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  write: false,
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
};

const placeholder = "0build0id0build0"; // as long as an id

const files = new Map(); // name -> bytes, what the hub serves

// A file of the page is asked for with its version, ?v=: whoever keeps it may keep it for good, and no page gets parts of
// another one. Chunks get plain names, in the order in which they are needed: a name made of a hash would change with every edit.
const page = await build({
  ...shared,
  entryPoints: { app: "src/main.tsx" },
  format: "esm",
  splitting: true,
  metafile: true,
  outdir: "out",
  chunkNames: "chunk-[name]-[hash]",
  define: { BUILD: JSON.stringify(placeholder) },
  jsx: "automatic",
  jsxImportSource: "preact",
});
const names = chunkNames(page.metafile);
for (const { path, text } of page.outputFiles) {
  let content = text;
  for (const [from, to] of names) content = content.replaceAll(from, `${to}?v=${placeholder}`);
  files.set(names.get(base(path)) ?? base(path), Buffer.from(content));
}

function base(path) {
  return path.split(/[\\/]/).at(-1);
}

function chunkNames({ outputs }) {
  const names = new Map(), taken = new Set();
  const visit = (path) => {
    const name = base(path);
    if (names.has(name) || !name.startsWith("chunk-")) return;
    const stem = name.replace(/-[A-Z0-9]{8}\.js$/, "").replace(/^chunk-/, "");
    let plain = stem === "chunk" ? "shared" : stem;
    for (let n = 2; taken.has(plain); n++) plain = `${stem === "chunk" ? "shared" : stem}${n}`;
    taken.add(plain);
    names.set(name, `${plain}.js`);
    outputs[path].imports.forEach((i) => visit(i.path));
  };
  outputs["out/app.js"].imports.forEach((i) => visit(i.path));
  return names;
}

// What app.js imports at once is named in index.html, so that the browser asks for all of it in one go.
function firstLoad({ outputs }) {
  const seen = new Set();
  const visit = (path) => outputs[path].imports.forEach((i) => {
    if (i.kind === "import-statement" && !seen.has(i.path)) {
      seen.add(i.path);
      visit(i.path);
    }
  });
  visit("out/app.js");
  return [...seen].map((path) => names.get(base(path)));
}

const preloads = firstLoad(page.metafile).map((name) => `<link rel="modulepreload" href="${name}?v=${placeholder}">\n`).join("");
const index = await readFile(join(here, "index.html"), "utf8");
files.set("index.html", Buffer.from(index.replace("<!-- preloads -->\n", preloads).replace(/"(app\.(?:css|js))"/g, `"$1?v=${placeholder}"`)));

// The highlighter is a worker: what it does is none of the page's time.
const highlighter = await build({ ...shared, entryPoints: ["src/ui/rows/highlight.worker.ts"], format: "iife" });
files.set("highlight.js", Buffer.from(highlighter.outputFiles[0].text));

for (const name of (await readdir(join(here, "public"))).sort()) files.set(name, await readFile(join(here, "public", name)));

const worker = await build({ ...shared, entryPoints: ["src/sw.ts"], format: "iife", define: {
  BUILD: JSON.stringify(placeholder),
  SHELL: JSON.stringify(["./", "icon.svg", "icon-192.png", ...[...files.keys()].filter((name) => /\.(js|css)$/.test(name)).sort()]),
} });
files.set("sw.js", Buffer.from(worker.outputFiles[0].text));

// The id names these contents: a page and a hub that carry the same id fit together. It is put in afterwards.
const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
const hash = createHash("sha256");
for (const [name, content] of sorted) hash.update(`${name}\0${content.length}\0`).update(content);
const id = hash.digest("hex").slice(0, placeholder.length);
for (const [name, content] of sorted) if (/\.(js|html)$/.test(name)) files.set(name, Buffer.from(content.toString().replaceAll(placeholder, id)));
files.set("build.json", Buffer.from(JSON.stringify({ id }) + "\n"));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const [name, content] of files) await writeFile(join(out, name), content);

const first = ["index.html", "app.css", "app.js", ...firstLoad(page.metafile)];
const size = first.reduce((sum, name) => sum + gzipSync(files.get(name), { level: 9 }).length, 0);
console.log(`${id}: ${files.size} files, first load ${(size / 1024).toFixed(1)} KiB compressed (${first.join(", ")})`);
