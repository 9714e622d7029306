// Runs a whole turn with a permission over an app-server on stdio, as its protocol describes it, checks each message
// strictly, and prints the shapes of all that came as JSON. The command line of the app-server is the argument.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { strict as assert } from 'node:assert';

const child = spawn(process.argv[2], process.argv.slice(3), { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface({ input: child.stdout, crlfDelay: Infinity })[Symbol.asyncIterator]();
const seen = []; // every message that came, in order

const say = (message) => child.stdin.write(JSON.stringify(message) + '\n');

/** The next message. Requests that are the host's own business are answered, as a host must. */
async function next() {
  for (;;) {
    const { value, done } = await lines.next();
    assert(!done, 'the app-server ended its output');
    const message = JSON.parse(value);
    checkClass(message);
    if (message.method === 'session/requestRuntimePreferences') {
      say({ id: message.id, result: { nativeSearchEnhancementsEnabled: false } });
      continue;
    }
    seen.push(message);
    return message;
  }
}

/** Each message is of one of the four classes and has no other member. */
function checkClass(message) {
  const members = Object.keys(message).filter((k) => k !== 'trace').sort().join();
  assert(['id,method,params', 'id,method', 'id,result', 'error,id', 'method,params', 'method'].includes(members), `a message with ${members}`);
}

async function until(wanted) {
  for (;;) {
    const message = await next();
    if (wanted(message)) return message;
  }
}

let calls = 0;
async function call(method, params) {
  const id = ++calls;
  say({ id, method, params });
  const reply = await until((m) => m.id === id && !m.method);
  assert(!reply.error, `${method}: ${JSON.stringify(reply.error)}`);
  return reply.result;
}

const storage = await until((m) => m.method === 'startup/storageState' && ['ready', 'failed'].includes(m.params.phase));
assert.equal(storage.params.phase, 'ready');
assert.equal(seen[0].params.sequence, 1);
assert.match(storage.params.databaseId, /^[0-9a-f]{64}$/);
assert.deepEqual(await call('runtime/capabilities', {}), { independentPlanState: true });

const created = await call('session/create', { workspace: { workspacePath: '/tmp/demo', workspaceKey: 'demo' } });
const sessionId = created.session.sessionId;
const subscribed = await call('session/subscribe', { sessionId, deliveryKind: 'desktop-continuous' });
assert.deepEqual(Object.keys(subscribed).sort(), ['eventSeq', 'events', 'sessionId']);
let seq = subscribed.eventSeq;

assert.equal((await call('session/send', { sessionId, content: 'ask' })).accepted, true);
const asked = await until((m) => m.method === 'interaction/requestPermission');
assert.equal(typeof asked.id, 'string');
const option = asked.params.options.find((o) => o.kind === 'allow_once');
say({ id: asked.id, result: option.response });

const ends = ['turn.completed', 'turn.failed'];
const end = await until((m) => m.method === 'session/event' && ends.includes(m.params.type));
assert.equal(end.params.payload.resultType, 'success');
await until((m) => m.method === 'state.updated' && m.params.reason === 'prompt_completed');

const events = seen.filter((m) => m.method === 'session/event').map((m) => m.params);
for (const event of events) assert.equal(event.seq, ++seq, 'events without a gap');
const text = events.filter((e) => e.payload?.kind === 'text_delta').map((e) => e.payload.delta).join('');
assert.equal((await call('session/read', { sessionId })).session.sessionId, sessionId);
assert.deepEqual(await call('session/close', { sessionId }), { closed: true });

const exited = new Promise((resolve) => child.on('exit', resolve));
child.stdin.end();
assert.equal(await exited, 0, 'exit code after the end of input');

/** The shape of a value: what its members are, not which values they have. */
function shape(value) {
  if (Array.isArray(value)) return value.length ? [shape(value[0])] : [];
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.keys(value).sort().map((k) => [k, shape(value[k])]));
}

const told = seen.filter((m, i) => {
  // Told to whoever owns the process, for its own statistics: protocol document 1.9.
  if (/^(v4\/telemetry|computer-use|process)\//.test(m.method ?? '')) return false;
  if (m.method === 'startup/storageState') return m.params.phase === 'ready';
  // Announced again and again to one client, once to each of many.
  return m.method !== 'interaction/requestPermission' || seen.findIndex((o) => o.method === m.method) === i;
});
const shapes = [];
for (const m of told) {
  const what = JSON.stringify([m.method ?? 'reply', m.params?.type, m.params?.payload?.kind, shape(m)]);
  if (shapes.at(-1) !== what) shapes.push(what); // how often text comes in pieces is a matter of timing
}
console.log(JSON.stringify({ text, shapes }));
