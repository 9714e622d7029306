// The hub's plain page: signing in, the list of sessions, following one of them, and answering the agent.

import { Connection, pair, renew, signIn, signOut, signedIn } from "./connection.js";
import { Transcript, element } from "./transcript.js";
import { Cards } from "./cards.js";
import { Devices } from "./devices.js";

const $ = (id) => document.getElementById(id);
const sessions = new Map(); // sessionId -> SessionInfo
let rights = [];
let current = null; // {sessionId, epoch, seq}: the session that is followed, and the cursor in its stream
let listing = 0; // timer of the next refresh of the list

const connection = new Connection({
  state: (text) => { $("state").textContent = text; refreshButtons(); },
  hello,
  message,
  signIn: askForToken,
  stopped: (reason) => { notice(reason); $("state").textContent = "disconnected"; refreshButtons(); },
  revoked: (reason) => { leave(); askForToken(reason); },
});
const transcript = new Transcript($("log"), showSession);
const cards = new Cards($("cards"), (id, result) => connection.answer(id, result), (id) => sessions.get(id)?.title || id || "a session");

const devices = new Devices(attempt);

function notice(text) {
  $("notice").textContent = text || "";
  $("notice").hidden = !text;
}

const may = (right) => rights.includes(right);

// attempt runs what a button asked for and shows why it failed.
async function attempt(what) {
  notice("");
  try {
    return await what();
  } catch (error) {
    notice(error.message);
  }
}

// ---- signing in

async function start() {
  if (await enterBy(location.hash)) return;
  if (await signedIn() === "no" && await renew() === "no") return askForToken("");
  follow(new URLSearchParams(location.hash.slice(1)).get("session"));
  connection.open();
}

// enterBy uses what the fragment of a link brings; false if that is nothing.
async function enterBy(hash) {
  const brought = new URLSearchParams(hash.slice(1));
  const code = brought.get("pair"), token = brought.get("token");
  if (!code && !token) return false;
  history.replaceState(null, "", location.pathname); // before anything can fail: it must not stay in the address bar
  await enter(() => code ? pair(code) : signIn(token));
  return true;
}

addEventListener("hashchange", () => enterBy(location.hash));

async function enter(how) {
  connection.close();
  try {
    await how();
  } catch (error) {
    return askForToken(error.message);
  }
  notice("");
  $("sign-in").hidden = true;
  connection.open();
}

function askForToken(reason) {
  notice(reason);
  $("main").hidden = $("sign-out").hidden = true;
  $("sign-in").hidden = false;
  $("state").textContent = "signed out";
  $("token").focus();
}

$("sign-in").addEventListener("submit", (e) => {
  e.preventDefault();
  const typed = $("token").value.trim();
  $("token").value = "";
  const link = typed.indexOf("#"); // a whole link does as well
  if (link < 0) enter(() => signIn(typed));
  else enterBy(typed.slice(link)).then((did) => did || askForToken("This link brings neither a pairing code nor a token."));
});

// leave forgets what was on the screen: somebody else may sign in next.
function leave() {
  devices.allow(false);
  current = null;
  transcript.reset();
  cards.clear();
}

$("sign-out").addEventListener("click", async () => {
  connection.close();
  await signOut().catch(() => {});
  leave();
  askForToken("");
});

// ---- messages of the hub

async function hello(params) {
  rights = params.principal?.rights || [];
  $("sign-in").hidden = true;
  $("main").hidden = $("sign-out").hidden = false;
  $("create").hidden = $("send").hidden = !may("control");
  devices.allow(may("admin"));
  notice("");
  appServer(params.appServer);
  refreshButtons();
  connection.request("hub/pendingInteractions").then(({ pending, settled }) => {
    settled.forEach((s) => cards.settled(s));
    cards.keep(new Set(pending.map((i) => i.requestId)));
  }).catch(() => {}); // cards then go when their settlement comes
  await attempt(listSessions);
  if (current) await attempt(subscribe);
}

function message({ id, method, params = {} }) {
  switch (method) {
    case "interaction/requestPermission":
    case "interaction/requestUserInput": return cards.show(id, params);
    case "hub/interaction": return cards.show(undefined, params.params);
    case "hub/answer": return cards.answered(params);
    case "hub/interactionSettled": return cards.settled(params);
    case "hub/appServer": return appServer(params);
    case "hub/closing": return notice(`The hub closes: ${params.reason || "it goes away"}.`);
    case "hub/presence": return presence(params);
    case "hub/lagged": return params.sessionId === current?.sessionId && notice({ downgraded: "Slow connection: fewer updates.", snapshot: "Slow connection: some steps were skipped." }[params.action]);
    case "hub/snapshot": return params.sessionId === current?.sessionId && take(params);
    case "session/event": return update(params);
    case "state.updated": return listSoon();
  }
}

function appServer({ state, detail } = {}) {
  if (state && state !== "ready") $("state").textContent = `connected, app-server ${state}${detail ? `: ${detail}` : ""}`;
  else if (state) $("state").textContent = "connected";
  if (state === "ready") listSoon();
  if (state === "restarting" && current) transcript.interrupted();
}

function presence({ sessionId, clients = [] }) {
  if (sessionId !== current?.sessionId) return;
  $("presence").textContent = clients.length > 1 ? `watching: ${clients.map((c) => c.name).join(", ")}` : "";
}

// ---- the list

function listSoon() {
  clearTimeout(listing);
  listing = setTimeout(() => listSessions().catch(() => {}), 500); // state.updated comes in groups
}

async function listSessions() {
  const { sessions: list = [] } = await connection.request("session/list", { limit: 100 });
  sessions.clear();
  for (const s of list.sort((a, b) => b.updatedAt - a.updatedAt)) sessions.set(s.sessionId, s);
  showList();
}

function showList() {
  $("session-list").replaceChildren(...[...sessions.values()].map((s) => {
    const button = element("button", { type: "button", onclick: () => attempt(() => open(s.sessionId)) },
      s.title || "untitled", element("br"), element("small", { textContent: `${s.status} · ${s.workspace?.workspacePath || ""}` }));
    button.setAttribute("aria-current", String(s.sessionId === current?.sessionId));
    return element("li", {}, button);
  }));
  const folders = new Set([...sessions.values()].map((s) => s.workspace?.workspacePath).filter(Boolean));
  $("workspaces").replaceChildren(...[...folders].map((value) => element("option", { value })));
  $("workspace").value ||= [...folders][0] || "";
  showSession();
}

$("refresh").addEventListener("click", () => attempt(listSessions));

$("create").addEventListener("submit", (e) => {
  e.preventDefault();
  attempt(async () => {
    const path = $("workspace").value.trim();
    const made = await connection.request("session/create", { workspace: { workspacePath: path, workspaceKey: path }, mode: $("mode").value });
    await listSessions();
    await open(made.session.sessionId);
  });
});

// ---- one session

function follow(sessionId) {
  if (!sessionId) return;
  current = { sessionId };
  transcript.reset();
  $("presence").textContent = "";
  $("session").hidden = false;
  history.replaceState(null, "", `#session=${encodeURIComponent(sessionId)}`);
}

async function open(sessionId) {
  if (sessionId === current?.sessionId) return;
  if (current) connection.request("session/unsubscribe", { sessionId: current.sessionId }).catch(() => {});
  follow(sessionId);
  showList();
  await subscribe();
  $("session-title").focus();
}

// subscribe goes on from the cursor where that is possible, and from a snapshot where it is not.
async function subscribe() {
  const { sessionId, epoch, seq } = current;
  const cursor = epoch === undefined ? { includeSnapshot: true } : { afterSeq: seq, epoch };
  const result = await connection.request("session/subscribe", { sessionId, ...cursor });
  if (sessionId !== current?.sessionId) return;
  if (epoch !== undefined && !result.resumed) {
    current = { sessionId };
    return subscribe();
  }
  if (epoch === undefined) return take(result);
  for (const event of result.events || []) apply(event);
}

// take starts over from a snapshot; without one (it follows as hub/snapshot) only the cursor is known.
function take({ sessionId, epoch, eventSeq, snapshot, events = [] }) {
  current = { sessionId, epoch, seq: eventSeq };
  if (snapshot) transcript.snapshot(snapshot);
  for (const event of events) if (event.seq > eventSeq) apply(event);
}

function update(event) {
  if (event.sessionId !== current?.sessionId || current.epoch === undefined || event.seq <= current.seq) return;
  const from = event.fromSeq ?? event.seq - 1;
  if (from !== current.seq) return attempt(subscribe); // a gap: ask again from the cursor
  apply(event);
}

function apply(event) {
  current.seq = event.seq;
  transcript.event(event);
  if (event.type === "session.titleUpdated" || event.type === "session.closed") listSoon();
}

function showSession() {
  if (!current) return;
  $("session-title").textContent = transcript.title || sessions.get(current.sessionId)?.title || "untitled";
  $("session-state").textContent = transcript.busy ? "working …" : "idle";
  refreshButtons();
}

function refreshButtons() {
  const connected = Boolean(connection.ready);
  for (const button of document.querySelectorAll("#send button, #create button, #refresh")) button.disabled = !connected;
  $("stop").disabled = !connected || !transcript.busy;
}

$("send").addEventListener("submit", (e) => {
  e.preventDefault();
  attempt(async () => {
    const content = $("prompt").value;
    await connection.request("session/send", { sessionId: current.sessionId, content });
    if ($("prompt").value === content) $("prompt").value = ""; // only now: a prompt that was not taken is not lost
  });
});

$("prompt").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) $("send").requestSubmit();
});

$("stop").addEventListener("click", () => attempt(() => connection.request("session/stop", { sessionId: current.sessionId })));

start();
