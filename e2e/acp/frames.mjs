// Checks every frame that the hub sends: by the SDK's own validators, by the JSON Schema, and by the rules that break
// clients most easily.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import Ajv2020 from 'ajv/dist/2020.js'

const require = createRequire(import.meta.url)
const sdk = join(dirname(require.resolve('@agentclientprotocol/sdk/schema/v1/schema.json')), '..', '..')
// The validators that the SDK applies to what it receives; it does not export them, nor apply them to responses.
const stable = await import(join(sdk, 'dist/v1/schema/zod.gen.js'))
const unstable = await import(join(sdk, 'dist/v1/unstable/schema/zod.gen.js'))

// The schema has formats that are names of number types of another language; ranges stand beside them.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
for (const name of ['schema.json', 'schema.unstable.json']) {
  ajv.addSchema(JSON.parse(readFileSync(join(sdk, 'schema/v1', name), 'utf8')), name)
}

const of = (definition) => ({
  name: definition,
  zod: stable['z' + definition],
  schema: ajv.compile({ $ref: `schema.json#/$defs/${definition}` }),
})
const ofUnstable = (definition) => ({
  name: definition,
  zod: unstable['z' + definition],
  schema: ajv.compile({ $ref: `schema.unstable.json#/$defs/${definition}` }),
})
// What is the hub's own, in the same form.
const own = (name, properties) => ({
  name,
  zod: null,
  schema: ajv.compile({ type: 'object', properties, required: Object.keys(properties) }),
})

const responses = {
  initialize: of('InitializeResponse'),
  authenticate: of('AuthenticateResponse'),
  'session/new': of('NewSessionResponse'),
  'session/load': of('LoadSessionResponse'),
  'session/list': of('ListSessionsResponse'),
  'session/resume': of('ResumeSessionResponse'),
  'session/close': of('CloseSessionResponse'),
  'session/delete': of('DeleteSessionResponse'),
  'session/set_mode': of('SetSessionModeResponse'),
  'session/set_config_option': of('SetSessionConfigOptionResponse'),
  'session/prompt': of('PromptResponse'),
  'session/fork': ofUnstable('ForkSessionResponse'),
}
const requests = {
  'session/request_permission': of('RequestPermissionRequest'),
  'elicitation/create': of('CreateElicitationRequest'),
}
const text = { type: 'string' }
const notifications = {
  'session/update': of('SessionNotification'),
  '$/cancel_request': of('CancelRequestNotification'),
  '$/zcode/turnState': own('turnState', { sessionId: text, running: { type: 'boolean' } }),
  '$/zcode/ask_settled': own('ask_settled', { sessionId: text, kind: { enum: ['permission', 'elicitation'] } }),
  '$/zcode/session_closed': own('session_closed', { sessionId: text }),
}
const failure = of('Error')

// faultsOf says by whom a value is refused, and why.
function faultsOf(shape, value) {
  const faults = []
  if (shape.zod) {
    const parsed = shape.zod.safeParse(value)
    if (!parsed.success) faults.push(`SDK (${shape.name}): ${parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`).join('; ')}`)
  }
  if (!shape.schema(value)) {
    faults.push(`schema (${shape.name}): ${told(shape.schema.errors)}`)
  }
  return faults
}

// frameFaults checks the form of one request or notification by itself, as golden transcripts hold them.
export function frameFaults(frame) {
  const shape = frame.id === undefined ? notifications[frame.method] : requests[frame.method]
  return shape ? faultsOf(shape, frame.params) : ['is nothing that a client knows']
}

// told leaves out what other branches of a union say: that they are not meant.
function told(errors) {
  const branches = ['anyOf', 'oneOf', 'const', 'required']
  const telling = errors.filter((e) => !branches.includes(e.keyword))
  const lines = (telling.length ? telling : errors).map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`)
  return [...new Set(lines)].slice(0, 5).join('; ')
}

const choices = (property) => property.oneOf ?? property.items?.anyOf

// Checker watches one connection. What is wrong is kept in faults.
export class Checker {
  faults = []
  frames = 0
  #calls = new Map() // method by id of what the client asked
  #ids = new Set() // of the hub's requests
  #open = new Map() // the hub's requests that are still shown, by id
  #tools = new Map() // tool calls seen, by session
  #earlier = new Map() // sessions with a load_earlier under way: whether its page has begun
  #loading = new Map() // sessions with a load under way: its id

  // choicesOnly is for a client that answers forms without choices at once, unasked.
  constructor(name, { choicesOnly = false } = {}) {
    this.name = name
    this.choicesOnly = choicesOnly
  }

  fault(frame, what) {
    this.faults.push(`${this.name}: ${what}\n    ${JSON.stringify(frame).slice(0, 600)}`)
  }

  sent(frame) {
    if (frame.method === undefined) {
      this.#open.delete(frame.id)
      return
    }
    if (frame.id === undefined) return
    this.#calls.set(JSON.stringify(frame.id), frame)
    if (frame.method === 'session/load') {
      this.#open.clear() // a client that loads drops what it shows
      this.#loading.set(frame.params.sessionId, frame.id)
    }
    if (frame.method === 'session/load_earlier') this.#earlier.set(frame.params.sessionId, false)
  }

  received(frame) {
    this.frames++
    if (frame === null || typeof frame !== 'object' || Array.isArray(frame) || frame.jsonrpc !== '2.0') {
      this.fault(frame, 'is no JSON-RPC 2.0 object')
    } else if (frame.method === undefined) {
      this.#response(frame)
    } else if (frame.id === undefined) {
      this.#notification(frame)
    } else {
      this.#request(frame)
    }
  }

  #check(frame, shape, value) {
    for (const fault of faultsOf(shape, value)) this.fault(frame, fault)
  }

  #response(frame) {
    if (frame.id === null) {
      this.#check(frame, failure, frame.error)
      return
    }
    const key = JSON.stringify(frame.id)
    const call = this.#calls.get(key)
    if (!call) {
      this.fault(frame, 'answers what was not asked, or again')
      return
    }
    this.#calls.delete(key)
    const session = call.params?.sessionId
    if (call.method === 'session/load') this.#loading.delete(session)
    if (call.method === 'session/load_earlier') this.#earlier.delete(session)
    if (frame.error !== undefined) {
      this.#check(frame, failure, frame.error)
      return
    }
    if (responses[call.method]) this.#check(frame, responses[call.method], frame.result)
  }

  #notification(frame) {
    const shape = notifications[frame.method]
    if (!shape) {
      this.fault(frame, 'is a notification that no client knows')
      return
    }
    this.#check(frame, shape, frame.params)
    if (frame.method === 'session/update') this.#update(frame, frame.params)
    if (frame.method === '$/cancel_request') {
      const { requestId, id } = frame.params
      if (requestId !== id || typeof id !== 'number') this.fault(frame, 'withdraws without both ids')
      if (!this.#ids.has(id)) this.fault(frame, 'withdraws what was never asked')
      this.#open.delete(id)
    }
  }

  #update(frame, { sessionId, update }) {
    if (this.#earlier.has(sessionId)) {
      const paged = update._meta?.zcode?.earlierPage === true || frame.params._meta?.zcode?.earlierPage === true
      // What comes before the page may have been on its way when the hub heard of the request.
      if (!paged && this.#earlier.get(sessionId)) this.fault(frame, 'came between the page of a session/load_earlier and its answer, and is not of it')
      if (paged) this.#earlier.set(sessionId, true)
    }
    const seen = this.#tools.get(sessionId) ?? new Set()
    this.#tools.set(sessionId, seen)
    if (update.sessionUpdate === 'tool_call') seen.add(update.toolCallId)
    if (update.sessionUpdate === 'tool_call_update' && !seen.has(update.toolCallId)) this.fault(frame, 'updates a tool call that was never shown')
  }

  #request(frame) {
    if (typeof frame.id !== 'number' || !Number.isSafeInteger(frame.id)) this.fault(frame, 'has an id that is no number')
    if (this.#ids.has(frame.id)) this.fault(frame, 'has an id that was used before')
    this.#ids.add(frame.id)
    const shape = requests[frame.method]
    if (!shape) {
      this.fault(frame, 'is a request that was not agreed to')
      return
    }
    this.#check(frame, shape, frame.params)
    const { sessionId, toolCall } = frame.params
    if ([...this.#open.values()].some((other) => other.method === frame.method)) this.fault(frame, 'is asked while another of its kind is open')
    this.#open.set(frame.id, frame)
    if (this.#loading.has(sessionId)) this.fault(frame, 'is asked while its session is being loaded')
    const id = toolCall?.toolCallId
    if (id !== undefined && !this.#tools.get(sessionId)?.has(id)) this.fault(frame, 'asks about a tool call that was never shown')
    if (frame.method === 'elicitation/create' && this.choicesOnly) {
      const names = Object.entries(frame.params.requestedSchema?.properties ?? {})
      if (!names.some(([name, property]) => !name.endsWith('_other') && choices(property))) this.fault(frame, 'is a form without a choice: this client declines it at once')
    }
  }

  // done adds what must not be left over at the end of a connection.
  done() {
    for (const call of this.#calls.values()) this.faults.push(`${this.name}: ${call.method} (id ${JSON.stringify(call.id)}) was never answered`)
    return this.faults
  }
}
