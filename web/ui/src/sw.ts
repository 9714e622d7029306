// The page's worker: the page opens without a network, and people are told of questions while it is closed.

export {};
declare const self: ServiceWorkerGlobalScope & { navigator: { setAppBadge?(n?: number): Promise<void>; clearAppBadge?(): Promise<void> } };

const CACHE = "hub-page-";
const NAME = CACHE + BUILD;
const PATIENCE = 2_500; // ms; a network that answers later is as good as none when the page is in the pocket already
const KEPT = 2; // caches: this version's, and that of pages which are still open

self.addEventListener("install", (e) => {
  e.waitUntil(caches.open(NAME).then((cache) => cache.addAll(SHELL.map((path) => (path === "./" ? path : `${path}?v=${BUILD}`)))).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (e) => {
  e.waitUntil((async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith(CACHE) && name !== NAME);
    await Promise.all(old.slice(0, Math.max(0, old.length - KEPT + 1)).map((name) => caches.delete(name)));
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== "GET" || url.origin !== location.origin) return;
  const version = url.searchParams.get("v");
  if (e.request.mode === "navigate" && url.pathname === new URL("./", location.href).pathname) e.respondWith(page(e.request));
  else if (version) e.respondWith(part(e.request, version));
});

// page asks the hub first, so that the page is of the hub's own version; soon enough it takes what it has.
async function page(request: Request): Promise<Response> {
  const kept = () => caches.match("./", { cacheName: NAME });
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE));
  const fresh = fetch(request).catch(() => undefined);
  const first = await Promise.race([fresh, late]);
  if (first?.ok) return first;
  return (await kept()) ?? (await fresh) ?? Response.error();
}

// part gives a file of the version that asks for it: a page never mixes two.
async function part(request: Request, version: string): Promise<Response> {
  return (await caches.match(request, { cacheName: CACHE + version, ignoreSearch: true })) ?? fetch(request);
}

// ---- being told

interface Ask {
  kind: "ask";
  sessionId: string;
  requestId: string;
  title: string;
  body: string;
  allow?: string; // tokens, each good for one answer to this one question
  deny?: string;
}

interface Settled {
  kind: "settled";
  sessionId: string;
  requestId: string;
  outcome?: string;
  by?: string;
}

const WORDS = {
  en: {
    allow: "Approve", deny: "Deny", late: "It was answered already, or the hub could not be reached. Tap to look.",
    settled: "A question of the agent", allowed: (by: string) => `${by} allowed it`, denied: (by: string) => `${by} rejected it`,
    answered: (by: string) => `${by} answered it`, over: () => "It waits for nobody any more",
  },
  zh: {
    allow: "批准", deny: "拒绝", late: "已有人作答，或无法连接 hub。点按查看。",
    settled: "智能体的提问", allowed: (by: string) => `${by} 已批准`, denied: (by: string) => `${by} 已拒绝`,
    answered: (by: string) => `${by} 已作答`, over: () => "不再需要作答",
  },
};

const BECAME = { allow: "allowed", allowAlways: "allowed", fullAccess: "allowed", deny: "denied", decline: "denied", cancel: "denied", accept: "answered", modify: "answered", escalate: "answered" } as const;

async function words() {
  const kept = await caches.match("language", { cacheName: "hub-settings" });
  return (await kept?.text()) === "zh" ? WORDS.zh : WORDS.en;
}

self.addEventListener("push", (e) => {
  const message = e.data?.json() as Ask | Settled | undefined;
  if (message?.kind === "ask") e.waitUntil(inTurn(() => show(message)));
  else if (message?.kind === "settled") e.waitUntil(inTurn(() => settle(message)));
});

self.addEventListener("message", (e) => {
  if (e.data?.seen) e.waitUntil(inTurn(tidy));
});

// inTurn touches what is shown one step after the other: Chromium takes a notification that is just being shown for a
// left-over, and forgets it, when it is asked for its list in that moment.
let turn: Promise<void> = Promise.resolve();
function inTurn(step: () => Promise<void>): Promise<void> {
  turn = turn.then(step, step);
  return turn;
}

async function show(ask: Ask): Promise<void> {
  const say = await words();
  const actions = [ask.allow && { action: "allow", title: say.allow }, ask.deny && { action: "deny", title: say.deny }].filter(Boolean);
  await self.registration.showNotification(ask.title, {
    body: ask.body, tag: ask.requestId, data: ask, icon: "icon-192.png", badge: "badge-96.png", requireInteraction: true, actions,
  } as NotificationOptions);
  await count();
}

// settle puts what became of a question in its place, without a sound. A browser wants something shown for each message
// (userVisibleOnly of the Push API): for one without, Chromium shows words of its own, and Safari ends the subscription.
async function settle({ kind, sessionId, requestId, outcome = "", by = "" }: Settled): Promise<void> {
  const say = await words();
  const [asked] = await self.registration.getNotifications({ tag: requestId });
  await tidy();
  const became = by && Object.hasOwn(BECAME, outcome) ? BECAME[outcome as keyof typeof BECAME] : "over";
  await self.registration.showNotification(asked?.title ?? say.settled, {
    body: say[became](by), tag: requestId, data: { kind, sessionId }, icon: "icon-192.png", badge: "badge-96.png", silent: true,
  });
  const windows = await self.clients.matchAll({ type: "window" });
  if (windows.some((w) => w.visibilityState === "visible")) await tidy(); // the page says it too
  await count();
}

// tidy takes away what is only news.
async function tidy(): Promise<void> {
  for (const shown of await self.registration.getNotifications()) if (shown.data?.kind === "settled") shown.close();
}

async function count(): Promise<void> {
  const open = (await self.registration.getNotifications()).filter((shown) => shown.data?.kind === "ask").length;
  await (open ? self.navigator.setAppBadge?.(open) : self.navigator.clearAppBadge?.())?.catch(() => {});
}

self.addEventListener("notificationclick", (e) => {
  const about = e.notification.data as Ask | Settled;
  e.notification.close();
  const decision = e.action === "allow" || e.action === "deny" ? e.action : null;
  e.waitUntil(decision && about.kind === "ask" ? decide(about, decision) : open(about.sessionId));
});

async function decide(ask: Ask, decision: "allow" | "deny"): Promise<void> {
  const body = JSON.stringify({ token: ask[decision], decision });
  const answer = await fetch("api/push/act", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => null);
  const became = answer?.ok ? await answer.json().catch(() => null) : null;
  if (became?.status === "accepted") return inTurn(count);
  const { late } = await words();
  await inTurn(async () => {
    await self.registration.showNotification(ask.title, { body: late, tag: ask.requestId, data: { ...ask, allow: undefined, deny: undefined }, icon: "icon-192.png" });
    await count();
  });
}

// open shows the session in a window that is there, or in a new one.
async function open(sessionId: string): Promise<void> {
  const hash = `#/s/${encodeURIComponent(sessionId)}`;
  const [client] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (client) {
    client.postMessage({ go: hash });
    await client.focus();
  } else await self.clients.openWindow(`./${hash}`);
  await inTurn(count);
}
