// Two kinds of clients: the public SDK, and one that behaves as the best known remote client does.
import { client } from '@agentclientprotocol/sdk'
import { Checker } from './frames.mjs'

const patience = 30_000

// Log keeps what a client saw, in order, and lets tests wait for more.
class Log {
  entries = []
  #waiting = new Set()

  add(entry) {
    this.entries.push(entry)
    for (const look of this.#waiting) look()
  }

  // want waits until an entry from the given place on is what is wanted, and returns it with its place.
  want(what, wanted, from = 0) {
    return new Promise((resolve, reject) => {
      const look = () => {
        for (let at = from; at < this.entries.length; at++) {
          if (wanted(this.entries[at])) {
            this.#waiting.delete(look)
            clearTimeout(timer)
            resolve({ ...this.entries[at], at })
            return
          }
        }
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(look)
        const last = this.entries.slice(-8).map((e) => JSON.stringify(e).slice(0, 200))
        reject(new Error(`waited in vain for ${what}; last came\n      ${last.join('\n      ')}`))
      }, patience)
      this.#waiting.add(look)
      look()
    })
  }
}

// Client is what both kinds have in common.
class Client {
  log = new Log()

  constructor(name, checker) {
    this.name = name
    this.checker = checker
  }

  get here() {
    return this.log.entries.length
  }

  update(kind, sessionId, from = 0) {
    return this.log.want(`${this.name}: ${kind}`, (e) => e.method === 'session/update' && e.params.sessionId === sessionId && e.params.update.sessionUpdate === kind, from)
  }

  turnState(sessionId, running, from = 0) {
    return this.log.want(`${this.name}: running ${running}`, (e) => e.method === '$/zcode/turnState' && e.params.sessionId === sessionId && e.params.running === running, from)
  }

  asked(method, sessionId, from = 0) {
    return this.log.want(`${this.name}: ${method}`, (e) => e.method === method && e.id !== undefined && e.params.sessionId === sessionId, from)
  }

  withdrawn(id) {
    return this.log.want(`${this.name}: ask ${id} to be withdrawn`, (e) => e.method === '$/cancel_request' && e.params.id === id)
  }

  settled(sessionId, from = 0) {
    return this.log.want(`${this.name}: the ask to be settled`, (e) => e.method === '$/zcode/ask_settled' && e.params.sessionId === sessionId, from)
  }

  updates(sessionId, from = 0, to = Infinity) {
    return this.log.entries.slice(from, to).filter((e) => e.method === 'session/update' && e.params.sessionId === sessionId).map((e) => e.params.update)
  }

  // said is the agent's text that was shown.
  said(sessionId, from = 0, to = Infinity) {
    return this.updates(sessionId, from, to).filter((u) => u.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text).join('')
  }
}

// SDKClient is a client made with the public SDK. What it does with questions is up to the test.
export class SDKClient extends Client {
  constructor(name, transport, capabilities = {}) {
    super(name, new Checker(name))
    this.capabilities = capabilities
    const app = client({ name })
      .onRequest('session/request_permission', (ctx) => this.#ask(ctx))
      .onRequest('elicitation/create', (ctx) => this.#ask(ctx))
      .onNotification('session/update', () => {})
      .onNotification('*', () => {})
    this.stream = transport.stream()
    this.connection = app.connect(this.#tapped(this.stream))
    this.agent = this.connection.agent
  }

  answers = new Map() // resolvers of open questions, by id

  #ask(ctx) {
    return new Promise((resolve) => this.answers.set(ctx.requestId, resolve))
  }

  // answer answers a question as soon as the SDK has handed it on.
  async answer(id, result) {
    while (!this.answers.has(id)) await new Promise((resolve) => setImmediate(resolve))
    this.answers.get(id)(result)
    this.answers.delete(id)
  }

  // fail answers a question with an error, as a client does that cannot show it.
  fail(id) {
    return this.answer(id, Promise.reject(new Error('this client cannot show it')))
  }

  #tapped(stream) {
    const writer = stream.writable.getWriter()
    return {
      readable: stream.readable.pipeThrough(
        new TransformStream({
          transform: (frame, out) => {
            this.checker.received(frame)
            out.enqueue(frame)
            this.log.add(frame)
          },
        }),
      ),
      writable: new WritableStream({
        write: (frame) => {
          this.checker.sent(frame)
          return writer.write(frame)
        },
        close: () => writer.close(),
        abort: (reason) => writer.abort(reason),
      }),
    }
  }

  initialize() {
    return this.agent.request('initialize', {
      protocolVersion: 1,
      clientInfo: { name: this.name, version: '1.0.0' },
      clientCapabilities: this.capabilities,
    })
  }

  request(method, params) {
    return this.agent.request(method, params)
  }

  prompt(sessionId, text) {
    return this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
  }

  cancel(sessionId) {
    return this.agent.notify('session/cancel', { sessionId })
  }

  // leave goes away, whatever is under way.
  async leave() {
    this.connection.close()
    await this.connection.closed
    await this.stream.end?.()
  }

  async close() {
    await this.leave()
    return this.checker.done()
  }
}

// RemoteClient behaves as the remote client of the contract: no clientInfo, one slot of each kind of question, a new one
// takes the place of the old without a word, a load empties both, forms without choices are declined at once, a
// withdrawal counts by its "id", and other requests are never answered.
export class RemoteClient extends Client {
  slots = { permission: null, elicitation: null }
  replaced = 0
  declined = 0
  #last = 0
  #calls = new Map()

  constructor(name, transport) {
    super(name, new Checker(name, { choicesOnly: true }))
    this.link = transport.raw((text) => this.#receive(text))
  }

  #receive(text) {
    if (text === null) {
      this.checker.faults.push(`${this.name}: got a binary frame`)
      return
    }
    const frame = JSON.parse(text)
    this.checker.received(frame)
    if (frame.method === undefined) {
      const call = this.#calls.get(frame.id)
      this.#calls.delete(frame.id)
      if (frame.error) call?.reject(Object.assign(new Error(frame.error.message), frame.error))
      else call?.resolve(frame.result)
    } else if (frame.id === undefined) {
      if (frame.method === '$/cancel_request') this.#withdraw(frame.params.id)
    } else if (frame.method === 'session/request_permission') {
      this.#show('permission', frame)
    } else if (frame.method === 'elicitation/create') {
      this.#elicit(frame)
    }
    this.log.add(frame)
  }

  #show(kind, frame) {
    if (this.slots[kind]) this.replaced++
    this.slots[kind] = frame
  }

  #elicit(frame) {
    const properties = Object.entries(frame.params.requestedSchema?.properties ?? {})
    const renders = properties.some(([name, p]) => !name.endsWith('_other') && (p.oneOf || p.items?.anyOf))
    if (!frame.params.sessionId || !renders) {
      this.declined++
      this.#reply(frame.id, { action: 'decline' })
      return
    }
    this.#show('elicitation', frame)
  }

  #withdraw(id) {
    for (const kind of Object.keys(this.slots)) {
      if (typeof id === 'number' && this.slots[kind]?.id === id) this.slots[kind] = null
    }
  }

  #send(frame) {
    this.checker.sent(frame)
    return this.link.send(JSON.stringify({ jsonrpc: '2.0', ...frame }))
  }

  #reply(id, result) {
    return this.#send({ id, result })
  }

  answer(kind, result) {
    const frame = this.slots[kind]
    this.slots[kind] = null
    return this.#reply(frame.id, result)
  }

  initialize() {
    return this.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  }

  request(method, params) {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject })
      this.#send({ id, method, params }).catch(reject)
    })
  }

  prompt(sessionId, text) {
    return this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
  }

  cancel(sessionId) {
    return this.#send({ method: 'session/cancel', params: { sessionId } })
  }

  load(sessionId, limit = 30) {
    this.slots = { permission: null, elicitation: null }
    return this.request('session/load', { sessionId, mcpServers: [], _meta: { zcode: { limit } } })
  }

  async close() {
    await this.link.close()
    return this.checker.done()
  }
}
