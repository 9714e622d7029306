// What is played. Each scenario has a stage of its own and a session of its own; whatever the hub sends in any of them
// is checked besides (frames.mjs). The simulated agent runs at twenty times its real pace: "slow 40s" takes two seconds.
import assert from 'node:assert/strict'
import { RemoteClient, SDKClient } from './clients.mjs'

const cwd = process.env.WORKSPACE ?? process.cwd()
const forms = { elicitation: { form: {} } }

const sdk = (stage, name, capabilities) => stage.join(new SDKClient(name, stage.transport, capabilities))
const remote = (stage, name = 'remote') => stage.join(new RemoteClient(name, stage.transport))
const create = async (client) => (await client.request('session/new', { cwd, mcpServers: [] })).sessionId
const refused = (promise, code, pattern = /./) =>
  assert.rejects(promise, (e) => {
    assert.equal(e.code, code, e.message)
    assert.match(e.message, pattern)
    return true
  })
// heard returns when the hub has taken what the clients said before: it answers what they ask after it.
const heard = (...clients) => Promise.all(clients.map((c) => c.request('authenticate', { methodId: 'none' })))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const allow = (frame) => ({ outcome: { outcome: 'selected', optionId: frame.params.options.find((o) => o.kind === 'allow_once').optionId } })
const reject = (frame) => ({ outcome: { outcome: 'selected', optionId: frame.params.options.find((o) => o.kind.startsWith('reject')).optionId } })
const permission = 'session/request_permission'
const form = 'elicitation/create'

// three are two SDK clients and a remote one on one session that has had a turn.
async function three(stage, capabilities = {}) {
  const a = await sdk(stage, 'a', capabilities)
  const b = await sdk(stage, 'b')
  const r = await remote(stage)
  const session = await create(a)
  await a.prompt(session, 'reply with exactly: begun')
  await b.request('session/load', { sessionId: session, cwd, mcpServers: [] })
  await r.load(session)
  return { a, b, r, session }
}

export const scenarios = {
  async 'handshake'(stage) {
    const raw = new RemoteClient('raw', stage.transport)
    stage.clients.push(raw)
    await refused(raw.request('session/list', {}), -32600)
    const first = await raw.request('initialize', { protocolVersion: 99, clientCapabilities: {} })
    assert.equal(first.protocolVersion, 1)
    assert.equal(first.agentCapabilities.loadSession, true)
    assert.equal(first.agentCapabilities.promptCapabilities.image, true)
    assert.equal(first.agentCapabilities._meta.zcode.fs, true)
    assert.deepEqual(first.authMethods, [])
    assert.deepEqual(await raw.initialize(), first, 'a second initialize is answered again')
    await refused(raw.request('no/such_method', {}), -32601)
    await raw.link.send('{not json')
    await raw.log.want('a parse error', (e) => e.error?.code === -32700 && e.id === null)
    await raw.link.send('[]')
    await raw.log.want('no batches', (e) => e.error?.code === -32600 && e.id === null)
    await raw.link.send('{"jsonrpc":"2.0","method":"no/such_notification","params":{}}')
    assert.deepEqual(await raw.request('authenticate', { methodId: 'none' }), {})
  },

  async 'every method'(stage) {
    const a = await sdk(stage, 'a', forms)
    const made = await a.request('session/new', { cwd, mcpServers: [] })
    const session = made.sessionId
    await a.update('available_commands_update', session)
    assert.ok(made.modes.availableModes.some((m) => m.id === made.modes.currentModeId))
    const option = (options, id) => options.find((o) => o.id === id)
    for (const id of ['model', 'mode']) assert.ok(option(made.configOptions, id), id)
    assert.equal((await a.prompt(session, 'hello')).stopReason, 'end_turn')

    const listed = (await a.request('session/list', {})).sessions.find((s) => s.sessionId === session)
    assert.equal(listed.cwd, cwd)
    await refused(a.request('session/list', { cursor: 'garbage' }), -32602)

    await a.request('session/set_mode', { sessionId: session, modeId: 'plan' })
    await a.update('current_mode_update', session)
    const set = await a.request('session/set_config_option', { sessionId: session, configId: 'mode', value: 'build' })
    assert.equal(option(set.configOptions, 'mode').currentValue, 'build')
    await refused(a.request('session/set_config_option', { sessionId: session, configId: 'nothing', value: 'x' }), -32602)
    await refused(a.request('session/set_config_option', { sessionId: session, configId: 'model', value: 'nobody\\none' }), -32602)
    const models = option(set.configOptions, 'model').options
    const other = models.find((m) => m.value !== option(set.configOptions, 'model').currentValue)
    if (other) {
      const changed = await a.request('session/set_config_option', { sessionId: session, configId: 'model', value: other.value })
      assert.equal(option(changed.configOptions, 'model').currentValue, other.value)
      assert.equal(option(changed.configOptions, 'mode').currentValue, 'build', 'one option resets no other')
    }

    const from = a.here
    const loaded = await a.request('session/load', { sessionId: session, cwd, mcpServers: [] })
    const kinds = a.updates(session, from).map((u) => u.sessionUpdate)
    for (const kind of ['user_message_chunk', 'agent_message_chunk', 'tool_call', 'plan', 'usage_update']) assert.ok(kinds.includes(kind), `${kind} in ${kinds}`)
    assert.ok(loaded.configOptions && loaded.modes)
    await a.update('available_commands_update', session, from)

    const quiet = a.here
    await a.request('session/resume', { sessionId: session, cwd, mcpServers: [] })
    assert.ok(!a.updates(session, quiet).some((u) => u.sessionUpdate.endsWith('message_chunk')), 'resume replays nothing')

    await refused(a.request('session/load', { sessionId: 'sess_none', cwd, mcpServers: [] }), -32002)
    await refused(a.request('session/prompt', { sessionId: 'sess_none', prompt: [{ type: 'text', text: 'x' }] }), -32002)
    const quota = await a.request('account/usage_stats', {})
    assert.ok(quota.glm.kind && quota.opencode.kind)

    const fork = await a.request('session/fork', { sessionId: session, cwd, mcpServers: [] })
    assert.notEqual(fork.sessionId, session)
    await a.request('session/delete', { sessionId: fork.sessionId })
    await a.request('session/delete', { sessionId: fork.sessionId })
    assert.ok(!(await a.request('session/list', {})).sessions.some((s) => s.sessionId === fork.sessionId))
    await a.request('session/close', { sessionId: session })
    await a.request('session/load', { sessionId: session, cwd, mcpServers: [] })
    assert.equal((await a.prompt(session, 'reply with exactly: again')).stopReason, 'end_turn')
  },

  async 'one turn before three clients'(stage) {
    const { a, b, r, session } = await three(stage)
    const from = { a: a.here, b: b.here, r: r.here }
    const done = a.prompt(session, 'ask echo hi')
    const asks = [await a.asked(permission, session, from.a), await b.asked(permission, session, from.b), await r.asked(permission, session, from.r)]
    r.answer('permission', allow(asks[2]))
    await Promise.all([a.withdrawn(asks[0].id), b.withdrawn(asks[1].id), a.settled(session, from.a), b.settled(session, from.b), r.settled(session, from.r)])
    const result = await done
    assert.equal(result.stopReason, 'end_turn')
    const reply = a.log.entries.findIndex((e, at) => at >= from.a && e.result?.stopReason === 'end_turn')
    const ends = a.log.entries.findIndex((e, at) => at >= from.a && e.method === '$/zcode/turnState' && !e.params.running)
    assert.ok(ends >= 0 && ends < reply, 'the end of the turn is told before the answer')
    await pause(300)
    const late = a.updates(session, reply + 1).filter((u) => u.sessionUpdate !== 'available_commands_update' && u.sessionUpdate !== 'session_info_update')
    assert.deepEqual(late, [], 'nothing of the turn comes after its answer')
    for (const other of [b, r]) {
      assert.ok(other.updates(session, from[other.name[0]]).some((u) => u.sessionUpdate === 'user_message_chunk' && u.content.text === 'ask echo hi'), `${other.name} sees the prompt`)
      await other.turnState(session, true, from[other.name[0]])
      await other.turnState(session, false, from[other.name[0]])
      assert.equal(other.said(session, from[other.name[0]]), a.said(session, from.a))
    }
    assert.ok(!a.updates(session, from.a).some((u) => u.sessionUpdate === 'user_message_chunk'), 'who prompts gets no echo')
    assert.equal(r.replaced, 0)
  },

  async 'a question by form and by permission'(stage) {
    const { a, b, r, session } = await three(stage, forms)
    const from = a.here
    const done = a.prompt(session, 'question')
    const asked = await a.asked(form, session, from)
    const properties = asked.params.requestedSchema.properties
    assert.ok(properties.q_0.oneOf.some((o) => o.const === 'Blue') && properties.q_1.items.anyOf.length >= 3 && properties.q_1_other)
    await b.asked(permission, session)
    await r.asked(form, session)
    r.answer('elicitation', { action: 'accept', content: { q_0: 'Blue', q_1: ['Tests'], q_1_other: 'Docs' } })
    await a.withdrawn(asked.id)
    assert.equal((await done).stopReason, 'end_turn')
    assert.equal(r.declined, 0)
    await a.log.want('the answer in the transcript', (e) => JSON.stringify(e).includes('Docs'), from)
  },

  async 'a plan is settled by a person only'(stage) {
    const { a, b, r, session } = await three(stage, forms)
    const from = a.here
    const done = a.prompt(session, 'plan')
    const asked = await r.asked(permission, session)
    assert.ok(asked.params.options.some((o) => o.optionId === 'approve') && asked.params.options.some((o) => o.kind === 'reject_once'))
    await pause(500)
    assert.equal(r.declined, 0)
    assert.ok(r.slots.permission, 'the plan is still open')
    await b.asked(permission, session)
    r.answer('permission', { outcome: { outcome: 'selected', optionId: 'approve' } })
    assert.equal((await done).stopReason, 'end_turn')
    assert.match(a.said(session, from), /approved/)
    await a.update('current_mode_update', session, from)
  },

  async 'a load during a running turn'(stage) {
    const a = await sdk(stage, 'a')
    const session = await create(a)
    await a.prompt(session, 'reply with exactly: first')
    const from = a.here
    const done = a.prompt(session, 'slow 40s')
    await a.log.want('some words', () => a.said(session, from).includes('tick5 '), from)
    const r = await remote(stage)
    const loaded = await r.load(session)
    assert.equal(loaded.replayMeta.turnActive, true)
    const response = r.log.entries.findIndex((e) => e.result?.replayMeta)
    await r.turnState(session, true, response)
    const b = await sdk(stage, 'b')
    await b.request('session/load', { sessionId: session, cwd, mcpServers: [] })
    assert.equal((await done).stopReason, 'end_turn')
    await r.turnState(session, false, response)
    const whole = a.said(session, from)
    for (const late of [r, b]) {
      await late.log.want(`${late.name} to have it all`, () => late.said(session).endsWith(whole.slice(-20)))
      assert.equal(late.said(session).replace('first', ''), whole, `${late.name} has every word once, in order`)
    }
  },

  async 'load_earlier while words stream in'(stage) {
    const a = await sdk(stage, 'a')
    const session = await create(a)
    for (let n = 0; n < 8; n++) await a.prompt(session, `reply with exactly: answer ${n}`)
    const r = await remote(stage)
    const loaded = await r.load(session, 4)
    assert.ok(loaded.replayMeta.hasMore && loaded.replayMeta.cursor)
    const done = a.prompt(session, 'slow 40s')
    let { cursor, hasMore } = loaded.replayMeta
    await refused(r.request('session/load_earlier', { sessionId: session, before: 'garbage' }), -32602, /cursor expired/)
    const pages = []
    while (hasMore) {
      const from = r.here
      const page = await r.request('session/load_earlier', { sessionId: session, before: cursor, limit: 4 })
      pages.unshift(r.said(session, from))
      ;({ cursor, hasMore } = page.replayMeta)
    }
    await done
    const told = pages.join('') + r.said(session)
    for (let n = 0; n < 8; n++) assert.ok(told.includes(`answer ${n}`), `answer ${n}`)
    const other = await sdk(stage, 'other')
    await refused(other.request('session/load_earlier', { sessionId: session, before: loaded.replayMeta.cursor }), -32602)
  },

  async 'a storm of cancels, and a prompt right behind'(stage) {
    const { a, b, r, session } = await three(stage)
    for (let round = 0; round < 3; round++) {
      const from = a.here
      const done = a.prompt(session, 'slow 200s')
      await a.turnState(session, true, from)
      for (let n = 0; n < 20; n++) await Promise.all([a.cancel(session), b.cancel(session), r.cancel(session)])
      const begun = Date.now()
      assert.equal((await done).stopReason, 'cancelled')
      assert.ok(Date.now() - begun < 5000, 'a cancel is answered at once')
      await heard(b, r)
      const again = a.here
      assert.equal((await a.prompt(session, `reply with exactly: round ${round}`)).stopReason, 'end_turn')
      assert.equal(a.said(session, again), `round ${round}`)
    }
    for (const c of [a, b, r]) await c.cancel(session)
    await heard(b, r)
    assert.equal((await a.prompt(session, 'reply with exactly: not poisoned')).stopReason, 'end_turn')
  },

  async 'a cancel withdraws what is asked'(stage) {
    const { a, r, session } = await three(stage)
    const from = a.here
    const done = a.prompt(session, 'ask echo hi')
    const asked = await a.asked(permission, session, from)
    await r.asked(permission, session)
    await r.cancel(session)
    assert.equal((await done).stopReason, 'cancelled')
    await a.withdrawn(asked.id)
    await r.log.want('the slot to be empty', () => r.slots.permission === null)
  },

  async 'prompts wait for their turn'(stage) {
    const { a, b, r, session } = await three(stage)
    const order = []
    const told = (name) => (result) => order.push(`${name} ${result.stopReason}`)
    const from = a.here
    const first = a.prompt(session, 'slow 20s').then(told('first'))
    await a.turnState(session, true, from)
    const second = b.prompt(session, 'reply with exactly: second').then(told('second'))
    await pause(100)
    const third = r.prompt(session, 'reply with exactly: third').then(told('third'))
    await Promise.all([first, second, third])
    assert.deepEqual(order, ['first end_turn', 'second end_turn', 'third end_turn'])
    await a.log.want('all answers', () => /second.*third/.test(a.said(session, from)), from)
  },

  async 'a load voids the asks of other sessions, and blocks nobody'(stage) {
    const a = await sdk(stage, 'a')
    const one = await create(a)
    const two = await create(a)
    for (const session of [one, two]) await a.prompt(session, 'reply with exactly: begun')
    const r = await remote(stage)
    await r.load(one)
    await r.load(two)
    const first = a.prompt(one, 'ask echo one')
    const asked = await r.asked(permission, one)
    await r.load(two) // its dialog for the other session is gone now
    const second = a.prompt(two, 'ask echo two')
    const other = await r.asked(permission, two)
    r.answer('permission', allow(other))
    assert.equal((await second).stopReason, 'end_turn')
    const back = r.here
    await r.load(one)
    const again = await r.asked(permission, one, back)
    assert.notEqual(again.id, asked.id)
    const response = r.log.entries.findIndex((e, at) => at >= back && e.result?.replayMeta)
    assert.ok(again.at > response, 'it comes after the answer to the load')
    r.answer('permission', allow(again))
    assert.equal((await first).stopReason, 'end_turn')
    assert.equal(r.replaced, 0)
  },

  async 'asks of two sessions come one after the other'(stage) {
    const a = await sdk(stage, 'a')
    const r = await remote(stage)
    const sessions = [await create(a), await create(a), await create(a)]
    const turns = []
    for (const session of sessions) {
      await a.prompt(session, 'reply with exactly: begun')
      await r.load(session)
    }
    for (const session of sessions) turns.push(a.prompt(session, 'ask echo hi'))
    for (let n = 0; n < sessions.length; n++) {
      await r.log.want('a dialog', () => r.slots.permission !== null)
      r.answer('permission', allow(r.slots.permission))
    }
    for (const turn of turns) assert.equal((await turn).stopReason, 'end_turn')
    assert.equal(r.replaced, 0)
  },

  async 'an ask outlives its clients'(stage) {
    const a = await sdk(stage, 'a')
    const session = await create(a)
    await a.prompt(session, 'reply with exactly: begun')
    const gone = a.prompt(session, 'ask echo hi').catch((e) => e)
    await a.asked(permission, session)
    await a.leave()
    await gone
    a.gone = true
    await pause(1500) // the agent says its question again meanwhile
    const r = await remote(stage)
    const from = r.here
    const loaded = await r.load(session)
    assert.equal(loaded.replayMeta.turnActive, true)
    const asked = await r.asked(permission, session, from)
    r.answer('permission', allow(asked))
    await r.turnState(session, false, from)
  },

  async 'clients leave and come in the middle of everything'(stage) {
    const a = await sdk(stage, 'a')
    const session = await create(a)
    await a.prompt(session, 'reply with exactly: begun')
    const done = a.prompt(session, 'burst 5000')
    for (let n = 0; n < 10; n++) {
      const r = await remote(stage, `remote ${n}`)
      const load = r.load(session, n * 3).catch((e) => e)
      if (n % 2) await load
      await r.link.close()
      r.gone = true
    }
    assert.equal((await done).stopReason, 'end_turn')
  },

  async 'an error is no answer'(stage) {
    const { a, r, session } = await three(stage, forms)
    const done = a.prompt(session, 'question')
    const asked = await a.asked(form, session)
    await r.asked(form, session)
    await a.fail(asked.id)
    await pause(500)
    assert.ok(r.slots.elicitation, 'the question is still open')
    r.answer('elicitation', { action: 'accept', content: { q_0: 'Red' } })
    assert.equal((await done).stopReason, 'end_turn')
    assert.equal(r.declined, 0)
  },

  async 'closing tells the others and brings nobody down'(stage) {
    const { a, b, r, session } = await three(stage)
    const from = a.here
    const done = a.prompt(session, 'slow 200s')
    await a.turnState(session, true, from)
    await b.request('session/close', { sessionId: session })
    assert.equal((await done).stopReason, 'cancelled')
    for (const c of [a, r]) await c.log.want('the close', (e) => e.method === '$/zcode/session_closed' && e.params.sessionId === session)
    assert.ok(!(await b.request('session/list', {})).sessions.some((s) => s.sessionId === session))
    await r.load(session)
    assert.equal((await r.prompt(session, 'reply with exactly: back')).stopReason, 'end_turn')
    assert.ok((await b.request('session/list', {})).sessions.some((s) => s.sessionId === session))
  },

  async 'who may only look sees, and is not asked'(stage) {
    if (!stage.transport.viewer) return 'whoever comes over the local socket has all rights'
    const a = await sdk(stage, 'a')
    const session = await create(a)
    await a.prompt(session, 'reply with exactly: begun')
    const viewer = await stage.join(new SDKClient('viewer', stage.transport.viewer(), forms))
    await viewer.request('session/load', { sessionId: session, cwd, mcpServers: [] })
    const from = { a: a.here, viewer: viewer.here }
    const done = a.prompt(session, 'ask echo hi')
    const asked = await a.asked(permission, session, from.a)
    for (const [method, params] of [
      ['session/prompt', { sessionId: session, prompt: [{ type: 'text', text: 'x' }] }],
      ['session/set_mode', { sessionId: session, modeId: 'plan' }],
      ['session/new', { cwd, mcpServers: [] }],
      ['session/delete', { sessionId: session }],
    ]) {
      await refused(viewer.request(method, params), -32000)
    }
    await viewer.cancel(session)
    await a.answer(asked.id, allow(asked))
    assert.equal((await done).stopReason, 'end_turn')
    await viewer.turnState(session, false, from.viewer)
    assert.equal(viewer.said(session, from.viewer), a.said(session, from.a))
    assert.ok(!viewer.log.entries.some((e) => e.method === permission), 'a viewer is asked nothing')
  },

  async 'kinds of prompts'(stage) {
    const a = await sdk(stage, 'a', { ...forms, _meta: { terminal_output: true } })
    const b = await sdk(stage, 'b')
    const session = await create(a)
    await b.request('session/load', { sessionId: session, cwd, mcpServers: [] })
    const play = async (text) => {
      const from = a.here
      const result = await a.prompt(session, text)
      return { result, updates: a.updates(session, from) }
    }
    assert.ok((await play('todo')).updates.some((u) => u.sessionUpdate === 'plan' && u.entries.length === 3))
    assert.equal((await play('unicode')).result.stopReason, 'end_turn')
    assert.equal((await play('big 200KB')).result.stopReason, 'end_turn')
    const burst = await play('burst 500')
    const words = burst.updates.filter((u) => u.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text).join('')
    assert.equal(words, Array.from({ length: 500 }, (_, i) => `word ${i + 1} of 500 `).join(''))
    await refused(a.prompt(session, 'fail'), -32603, /quota is used up/)
    assert.equal((await play('subagent')).result.stopReason, 'end_turn')
    const picture = { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' }
    assert.equal((await a.request('session/prompt', { sessionId: session, prompt: [{ type: 'text', text: 'reply with exactly: seen' }, picture] })).stopReason, 'end_turn')
    const edited = a.prompt(session, 'edit')
    const ask = await a.asked(permission, session)
    a.answer(ask.id, allow(ask))
    assert.equal((await edited).stopReason, 'end_turn')
    assert.ok(a.updates(session).some((u) => u.content?.some?.((c) => c.type === 'diff')), 'an edit shows its diff')
    const ran = a.prompt(session, 'ask echo hi')
    const command = await a.asked(permission, session, ask.at + 1)
    a.answer(command.id, reject(command))
    assert.equal((await ran).stopReason, 'end_turn')
    const busy = a.here
    await a.prompt(session, 'background 20s')
    await a.turnState(session, true, busy)
    await a.log.want('the background command to end', (e) => e.method === 'session/update' && e.params.update.sessionUpdate === 'tool_call_update' && ['completed', 'failed'].includes(e.params.update.status), busy)
  },

  // Last, since it ends the app-server for all.
  async 'the agent dies in the middle of a turn'(stage) {
    const { a, r, session } = await three(stage)
    await refused(a.prompt(session, 'crash'), -32603)
    await r.turnState(session, false)
    const from = a.here
    await a.request('session/load', { sessionId: session, cwd, mcpServers: [] })
    assert.ok(!a.updates(session, from).some((u) => u.sessionUpdate === 'tool_call' && ['pending', 'in_progress'].includes(u.status)), 'no card spins for ever')
    assert.equal((await r.prompt(session, 'reply with exactly: alive')).stopReason, 'end_turn')
    await a.log.want('the other to hear of it', () => a.said(session, from).includes('alive'))
  },
}
