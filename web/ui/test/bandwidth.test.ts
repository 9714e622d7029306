import { beforeEach, expect, test, vi } from "vitest";
import { fresh, greeting, Socket } from "./browser";

const settle = (ms = 20) => vi.advanceTimersByTimeAsync(ms);
let link: typeof import("../src/wire/link").link;
let wanted: typeof import("../src/wire/link").wanted;
let pace: typeof import("../src/state/bandwidth").pace;
let bandwidth: typeof import("../src/state/settings").bandwidth;

beforeEach(async () => {
  fresh();
  ({ link, wanted } = await import("../src/wire/link"));
  ({ bandwidth } = await import("../src/state/settings"));
  const m = await import("../src/state/bandwidth");
  ({ pace } = m);
  m.watchBandwidth();
});

async function connected(answer: (profile: string) => unknown = (profile) => ({ clientMode: profile })): Promise<Socket> {
  link.connect();
  Socket.last.answers["hub/setProfile"] = ({ profile }) => answer(profile);
  Socket.last.opens();
  await settle();
  return Socket.last;
}
const asked = (socket: Socket) => socket.calls("hub/setProfile").map((c) => c.params.profile);

test("a fast line has every update; a token that does not allow that is asked once and left in peace", async () => {
  const socket = await connected();
  expect(asked(socket)).toEqual(["desktop-continuous"]);
  expect(pace.value).toEqual({ pace: "live", word: "live", why: "page" });
  const other = await connected(() => { throw { code: -32040, message: "not allowed" }; });
  await settle(60_000);
  expect(asked(other)).toEqual(["desktop-continuous"]);
  expect(pace.value).toEqual({ pace: "live", word: "merged", why: "paired" });
});

test("a slow line has less by itself, and what is in between changes nothing", async () => {
  const socket = await connected();
  link.rtt.value = 700;
  await settle();
  expect(pace.value.pace).toBe("second");
  expect(wanted.every).toBe(1000);
  expect(asked(socket).at(-1)).toBe("web-remote-replayable");
  link.rtt.value = 400;
  expect(pace.value.pace).toBe("second");
  link.rtt.value = 100;
  await settle();
  expect(pace.value.pace).toBe("live");
  expect(wanted.every).toBe(0);
  expect(asked(socket).at(-1)).toBe("desktop-continuous");
});

test("a page that does not keep up has less for two minutes", async () => {
  const socket = await connected();
  socket.says({ method: "hub/lagged", params: { topic: "conversation/s1", action: "downgraded" } });
  expect(pace.value.pace).toBe("second");
  socket.says({ method: "hub/lagged", params: { topic: "conversation/s1", action: "restored" } });
  expect(pace.value.pace).toBe("second");
  await settle(2 * 60_000);
  expect(pace.value.pace).toBe("live");
});

test("what a person chose is kept to on any line, and over a reload", async () => {
  await connected();
  bandwidth.value = "results";
  link.rtt.value = 5;
  expect(pace.value).toMatchObject({ pace: "results", why: "person" });
  expect(localStorage.getItem("hub.bandwidth")).toBe("results");
});

test("a hub that carries another build of the page says so, one that carries none does not", async () => {
  const { outdated } = await import("../src/state/link");
  for (const [page, is] of [["test", false], ["other", true], [undefined, false]] as const) {
    link.connect();
    Socket.last.opens({ ...greeting, capabilities: page ? { page } : {} });
    await settle();
    expect([page, outdated.value]).toEqual([page, is]);
  }
});
