// The worker's notifications, with a browser that keeps them in a list.

import { beforeEach, expect, test, vi } from "vitest";

type Shown = { title: string; body: string; tag: string; data: any; silent?: boolean; actions?: { action: string }[]; close(): void };

let listeners: Record<string, (e: any) => void>;
let notifications: Shown[];
let showing: number; // calls of showNotification that are not over
let listed: number; // times the list was read while one was being shown
let windows: { visibilityState: string }[];
let badge: number;

const turn = () => new Promise((resolve) => setTimeout(resolve, 1));

beforeEach(async () => {
  vi.resetModules();
  listeners = {};
  notifications = [];
  windows = [];
  showing = listed = badge = 0;
  vi.stubGlobal("caches", { match: async () => undefined });
  vi.stubGlobal("self", {
    addEventListener: (type: string, listener: (e: any) => void) => (listeners[type] = listener),
    clients: { matchAll: async () => windows },
    navigator: { setAppBadge: async (n: number) => void (badge = n), clearAppBadge: async () => void (badge = 0) },
    registration: {
      async showNotification(title: string, options: any) {
        showing++;
        await turn();
        showing--;
        notifications = notifications.filter((n) => n.tag !== options.tag);
        const shown: Shown = { title, ...options, close: () => (notifications = notifications.filter((n) => n !== shown)) };
        notifications.push(shown);
      },
      async getNotifications({ tag }: { tag?: string } = {}) {
        if (showing) listed++;
        return notifications.filter((n) => !tag || n.tag === tag);
      },
    },
  });
  await vi.importActual("../src/sw");
});

// happens gives the worker an event, and is over when the worker has said it is.
function happens(type: string, event: object): Promise<unknown> {
  const work: Promise<unknown>[] = [];
  listeners[type]!({ ...event, waitUntil: (p: Promise<unknown>) => work.push(p) });
  return Promise.all(work);
}

const pushed = (message: object) => happens("push", { data: { json: () => message } });
const asked = (requestId: string) => pushed({ kind: "ask", sessionId: "s1", requestId, title: "Build", body: "Bash: make", allow: "A", deny: "D" });
const settled = (requestId: string, how: object = {}) => pushed({ kind: "settled", sessionId: "s1", requestId, ...how });
const bodies = () => notifications.map((n) => n.body);

test("a question that was answered elsewhere says by whom, quietly, and waits for nobody", async () => {
  await asked("r1");
  expect(notifications).toMatchObject([{ title: "Build", body: "Bash: make", actions: [{ action: "allow" }, { action: "deny" }] }]);
  expect(badge).toBe(1);
  await settled("r1", { outcome: "deny", by: "Laptop" });
  expect(notifications).toMatchObject([{ title: "Build", body: "Laptop rejected it", silent: true }]);
  expect(notifications[0]!.actions).toBeUndefined();
  expect(badge).toBe(0);
});

test("every message shows something, also one about a question that was swiped away", async () => {
  await settled("r1", { outcome: "allow", by: "Laptop" });
  expect(bodies()).toEqual(["Laptop allowed it"]);
});

test("an outcome that nobody chose is told without a name", async () => {
  await settled("r1", { outcome: "cancelled", by: "agent" });
  await settled("r2", { outcome: "constructor", by: "Laptop" });
  expect(bodies()).toEqual(["It waits for nobody any more"]);
});

test("news does not pile up, and goes when somebody looks; questions stay", async () => {
  await asked("r1");
  await asked("r2");
  await asked("r3");
  await settled("r1", { outcome: "allow", by: "Laptop" });
  await settled("r2", { outcome: "accept", by: "Laptop" });
  expect(bodies()).toEqual(["Bash: make", "Laptop answered it"]);
  await happens("message", { data: { seen: true } });
  expect(bodies()).toEqual(["Bash: make"]);
  windows = [{ visibilityState: "visible" }];
  await settled("r3", { outcome: "allow", by: "Laptop" });
  expect(notifications).toEqual([]);
});

test("the list of notifications is not read while one is being shown", async () => {
  await Promise.all([asked("r1"), asked("r2"), settled("r1", { outcome: "allow", by: "Laptop" }), asked("r3")]);
  expect(bodies()).toEqual(["Bash: make", "Laptop allowed it", "Bash: make"]);
  expect(listed).toBe(0);
});
