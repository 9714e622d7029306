// The hub's plain page: signing in, the list of sessions, following one of them, and answering the agent.

import { Connection, pair, renew, signIn, signOut, signedIn } from "./connection.js";
import { Transcript, element } from "./transcript.js";
import { Cards } from "./cards.js";
import { Devices } from "./devices.js";

const $ = (id) => document.getElementById(id);
const sessions = new Map(); // sessionId -> SessionInfo
let rights = [];
let current = null; // {sessionId, epoch, seq}: the session that is followed, and the cursor in its stream
let me = ""; // this page's connection, as the hub names it
let listing = 0; // timer of the next refresh of the list
let asked = null; // the session/list that is on its way
let lastSign = 0; // when the app-server last showed that the session lives
let ticking = 0; // timer of a countdown

const LIST_SOON = 500; // ms; what changes the list comes in groups
const LIST_EVERY = 15_000; // ms; another device's session is there before its owner has walked over
const SILENCE = 10_000; // ms; longer than a model usually takes to say something
const NO_SESSION = -32004; // error code

const connection = new Connection({
  state: (text) => { say(text); refreshButtons(); },
  hello,
  message,
  signIn: askForToken,
  stopped: (reason) => { notice(reason); say("disconnected"); refreshButtons(); },
  revoked: (reason) => { leave(); askForToken(reason); },
});
const transcript = new Transcript($("log"), showSession);
const cards = new Cards({
  answer: (id, result) => connection.answer(id, result),
  sessionName,
  settled: (id, text) => id === current?.sessionId && (transcript.settled(text), true),
});
const devices = new Devices(attempt);

function notice(text) {
  $("notice").textContent = text || "";
  $("notice").hidden = !text;
}

// say shows how the connection is; a wait that it names is counted down, without a screen reader reading every second.
function say(text) {
  clearInterval(ticking);
  const [, head, wait] = /^(.*next try )in (.+)$/s.exec(text) || [, text];
  const left = element("span", { ariaHidden: "true" });
  $("state").replaceChildren(head, left);
  if (!wait) return;
  const unit = { ms: 1, s: 1000, m: 60_000 };
  const until = Date.now() + [...wait.matchAll(/([\d.]+) ?(ms|s|m)/g)].reduce((sum, [, n, u]) => sum + n * unit[u], 0);
  const tick = () => {
    const seconds = Math.ceil((until - Date.now()) / 1000);
    left.textContent = seconds > 1 ? `in ${seconds} s` : "soon";
  };
  tick();
  ticking = setInterval(tick, 1000);
}

// sessionName is for people: the title and the folder.
function sessionName(id) {
  const known = sessions.get(id);
  if (!known) return "a session";
  return [known.title || "untitled", known.workspace?.workspacePath?.split(/[\\/]/).filter(Boolean).at(-1)].filter(Boolean).join(" · ");
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

// busily is attempt for a button that says meanwhile what goes on.
async function busily(button, doing, what) {
  const text = button.textContent;
  button.textContent = doing;
  button.ariaBusy = "true";
  refreshButtons();
  await attempt(what);
  button.textContent = text;
  button.ariaBusy = null;
  refreshButtons();
}

// ---- signing in

async function start() {
  if (await enterBy(location.hash)) return;
  if (await signedIn() === "no" && await renew() === "no") return askForToken("");
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
  say("signed out");
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
  closeSession();
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
  me = params.connectionId;
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
  if (!current) follow(new URLSearchParams(location.hash.slice(1)).get("session")); // a page that was loaded again
  if (!current) return;
  const anew = current.epoch === undefined;
  await attempt(subscribe);
  if (anew && current) $("session").scrollIntoView();
}

// ask shows a question; one of a session that this page has not heard of says that the list is old.
function ask(id, params) {
  cards.show(id, params);
  if (!sessions.has(params.sessionId)) listSoon();
}

function message({ id, method, params = {} }) {
  switch (method) {
    case "interaction/requestPermission":
    case "interaction/requestUserInput": return ask(id, params);
    case "hub/interaction": return ask(undefined, params.params);
    case "hub/answer": return cards.answered(params);
    case "hub/interactionSettled": return cards.settled(params);
    case "hub/appServer": return appServer(params);
    case "hub/closing": return notice(`The hub closes: ${params.reason || "it goes away"}.`);
    case "hub/presence": return presence(params);
    case "hub/lagged": return params.sessionId === current?.sessionId && notice({ downgraded: "Slow connection: fewer updates.", snapshot: "Slow connection: some steps were skipped." }[params.action]);
    case "hub/snapshot": return params.sessionId === current?.sessionId && (params.snapshot ? take(params) : gone());
    case "session/event": return update(params);
    case "state.updated": return listSoon();
  }
}

function appServer({ state, detail } = {}) {
  if (state && state !== "ready") say(`connected, app-server ${state}${detail ? `: ${detail}` : ""}`);
  else if (state) say("connected");
  if (state === "ready") listSoon();
  if (state === "restarting" && current) transcript.interrupted();
}

function presence({ sessionId, clients = [] }) {
  if (sessionId !== current?.sessionId) return;
  const others = clients.filter((c) => c.connectionId !== me).map((c) => c.name);
  $("presence").textContent = others.length ? `also watching: ${others.join(", ")}` : "";
}

// ---- the list

function listSoon() {
  clearTimeout(listing);
  listing = setTimeout(refreshList, LIST_SOON);
}

// refreshList is for nobody who waits: while the app-server is slow one request is enough.
function refreshList() {
  if (connection.ready && !document.hidden && !asked) listSessions().catch(() => {});
}

setInterval(refreshList, LIST_EVERY);
document.addEventListener("visibilitychange", () => {
  lastSign = Date.now(); // a page that slept has heard nothing; that says nothing about the agent
  refreshList();
});

async function listSessions() {
  const request = asked = connection.request("session/list", { limit: 100 });
  const { sessions: list = [] } = await request.finally(() => { if (asked === request) asked = null; });
  sessions.clear();
  for (const s of list.sort((a, b) => b.updatedAt - a.updatedAt)) sessions.set(s.sessionId, s);
  cards.rename();
  showList();
}

// showList keeps the reader's place: where it is scrolled to, and the focus.
function showList() {
  const list = $("session-list"), top = list.scrollTop, focused = list.contains(document.activeElement) && document.activeElement.dataset.id;
  list.replaceChildren(...[...sessions.values()].map((s) => {
    const button = element("button", { type: "button", onclick: () => attempt(() => open(s.sessionId)) },
      s.title || "untitled", element("br"), element("small", { textContent: `${s.status} · ${s.workspace?.workspacePath || ""}` }));
    button.dataset.id = s.sessionId;
    button.setAttribute("aria-current", String(s.sessionId === current?.sessionId));
    return element("li", {}, button);
  }));
  list.scrollTop = top;
  if (focused) list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  const folders = new Set([...sessions.values()].map((s) => s.workspace?.workspacePath).filter(Boolean));
  $("workspaces").replaceChildren(...[...folders].map((value) => element("option", { value })));
  $("workspace").value ||= [...folders][0] || "";
  showSession();
}

$("refresh").addEventListener("click", () => busily($("refresh"), "Refreshing …", listSessions));

$("create").addEventListener("submit", (e) => {
  e.preventDefault();
  busily(e.submitter ?? $("create").querySelector("button"), "Creating …", async () => {
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

function closeSession() {
  current = null;
  transcript.reset();
  $("session").hidden = true;
  history.replaceState(null, "", location.pathname);
}

// gone: the app-server has lost the session, and nothing can be done with it any more.
function gone() {
  const title = transcript.title || sessions.get(current.sessionId)?.title;
  notice(`This session is gone${title ? `: ${title}` : ""}. The app-server does not know it any more.`);
  closeSession();
  showList();
  listSoon();
  $("notice").scrollIntoView({ block: "center" });
}

async function open(sessionId) {
  if (sessionId === current?.sessionId) return bringIntoView();
  if (current) connection.request("session/unsubscribe", { sessionId: current.sessionId }).catch(() => {});
  follow(sessionId);
  showList();
  await subscribe();
  if (sessionId === current?.sessionId) bringIntoView();
}

function bringIntoView() {
  $("session").scrollIntoView();
  $("session-title").focus({ preventScroll: true });
}

// subscribe goes on from the cursor where that is possible, and from a snapshot where it is not.
async function subscribe() {
  const { sessionId, epoch, seq } = current;
  const cursor = epoch === undefined ? { includeSnapshot: true } : { afterSeq: seq, epoch };
  const result = await connection.request("session/subscribe", { sessionId, ...cursor }).catch((error) => {
    if (error.code !== NO_SESSION) throw error;
  });
  if (sessionId !== current?.sessionId) return;
  if (!result) return gone();
  lastSign = Date.now();
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
  lastSign = Date.now();
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
  lastSign = Date.now();
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
  for (const button of document.querySelectorAll("#send button, #create button, #refresh")) button.disabled = !connected || Boolean(button.ariaBusy);
  $("stop").disabled ||= !transcript.busy;
}

// An agent that waits for a person is silent and well.
setInterval(() => {
  const silent = Date.now() - lastSign;
  const odd = connection.ready && transcript.busy && silent >= SILENCE && !cards.waitsFor(current?.sessionId);
  $("silence").textContent = odd ? `no sign of life for ${Math.floor(silent / 1000)} s` : "";
}, 1000);

$("send").addEventListener("submit", (e) => {
  e.preventDefault();
  if (!e.submitter && $("send").querySelector("button").disabled) return;
  busily($("send").querySelector("button"), "Sending …", async () => {
    const content = $("prompt").value;
    await connection.request("session/send", { sessionId: current.sessionId, content });
    if ($("prompt").value === content) $("prompt").value = ""; // only now: a prompt that was not taken is not lost
  });
});

$("prompt").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) $("send").requestSubmit();
});

$("stop").addEventListener("click", () => busily($("stop"), "Stopping …", () => connection.request("session/stop", { sessionId: current.sessionId })));

start();
