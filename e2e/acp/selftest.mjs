// The checker must find what it is there to find: each of these is something that breaks a client.
import { Checker } from './frames.mjs'

const update = (value) => ({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update: value } })
const call = (toolCallId = 't') => update({ sessionUpdate: 'tool_call', toolCallId, title: 'Bash', status: 'pending', kind: 'execute' })
const options = [{ optionId: 'allow', name: 'Allow', kind: 'allow_once' }]
const ask = (id, toolCallId = 't', more = {}) => ({ jsonrpc: '2.0', id, method: 'session/request_permission', params: { sessionId: 's', toolCall: { toolCallId }, options, ...more } })
const form = (id, properties, more = {}) => ({
  jsonrpc: '2.0', id, method: 'elicitation/create',
  params: { mode: 'form', sessionId: 's', message: 'm', requestedSchema: { type: 'object', properties }, ...more },
})
const choice = { q_0: { type: 'string', title: 'q', oneOf: [{ const: 'a', title: 'a' }] } }
const cancel = (params) => ({ jsonrpc: '2.0', method: '$/cancel_request', params })
const asked = (method, params = { sessionId: 's' }, id = 1) => ({ sent: { jsonrpc: '2.0', id, method, params } })
const answer = (result, id = 1) => ({ jsonrpc: '2.0', id, result })

const wrong = {
  'an id that is no number': [call(), ask('1')],
  'an id that comes again': [call(), ask(1), cancel({ requestId: 1, id: 1 }), ask(1)],
  'two permissions at once': [call(), ask(1), ask(2)],
  'two forms at once': [form(1, choice), form(2, choice)],
  'a withdrawal with one id': [call(), ask(1), cancel({ requestId: 1 })],
  'a withdrawal with the other id': [call(), ask(1), cancel({ id: 1 })],
  'a withdrawal of what was not asked': [cancel({ requestId: 7, id: 7 })],
  'a form without a choice': [form(1, { q_0: { type: 'string', title: 'q' } })],
  'a form whose only choice is an other': [form(1, { q_0_other: choice.q_0 })],
  'a form without a message': [form(1, choice, { message: undefined })],
  'a form without a scope': [form(1, choice, { sessionId: undefined })],
  'a choice without a title': [form(1, { q_0: { type: 'string', oneOf: [{ const: 'a' }] } })],
  'a tool call without a title': [update({ sessionUpdate: 'tool_call', toolCallId: 't' })],
  'a tool call of another kind': [update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'x', kind: 'magic' })],
  'a tool call of another status': [update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'x', status: 'done' })],
  'bare text in a tool call': [update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'x', content: [{ type: 'text', text: 'x' }] })],
  'a chunk that is a list': [update({ sessionUpdate: 'agent_message_chunk', content: [{ type: 'text', text: 'x' }] })],
  'usage that is no whole number': [update({ sessionUpdate: 'usage_update', used: 1.5, size: 10 })],
  'usage that is null': [update({ sessionUpdate: 'usage_update', used: null, size: 10 })],
  'an unknown update': [update({ sessionUpdate: 'turn_state' })],
  'a plan without a priority': [update({ sessionUpdate: 'plan', entries: [{ content: 'x', status: 'pending' }] })],
  'a plan with the status active': [update({ sessionUpdate: 'plan', entries: [{ content: 'x', status: 'active', priority: 'high' }] })],
  'an option of an unknown type': [update({ sessionUpdate: 'config_option_update', configOptions: [{ id: 'x', name: 'x', type: 'slider', currentValue: 1 }] })],
  'a command without a description': [update({ sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'x' }] })],
  'an update of a tool call that was not shown': [update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'completed' })],
  'a permission for a tool call that was not shown': [ask(1)],
  'a permission with an option of another kind': [call(), ask(1, 't', { options: [{ optionId: 'x', name: 'x', kind: 'deny' }] })],
  'a permission while its session is loaded': [call(), asked('session/load'), ask(1)],
  'a live update within a page': [asked('session/load_earlier'), update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x' }, _meta: { zcode: { earlierPage: true } } }), update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x' } })],
  'a list row without a folder': [asked('session/list'), answer({ sessions: [{ sessionId: 's' }] })],
  'a list row with a number for a time': [asked('session/list'), answer({ sessions: [{ sessionId: 's', cwd: '/w', updatedAt: 5 }] })],
  'a version that is text': [asked('initialize'), answer({ protocolVersion: '1' })],
  'another reason to stop': [asked('session/prompt'), answer({ stopReason: 'done' })],
  'an answer that comes twice': [asked('session/prompt'), answer({ stopReason: 'end_turn' }), answer({ stopReason: 'end_turn' })],
  'no answer at all': [asked('session/prompt')],
  'an error without a message': [asked('session/prompt'), { jsonrpc: '2.0', id: 1, error: { code: -32603 } }],
  'a frame without a version': [{ id: 1, result: {} }],
  'a batch': [[call()]],
  'a request of a file': [{ jsonrpc: '2.0', id: 1, method: 'fs/read_text_file', params: { sessionId: 's', path: '/x' } }],
}

const right = [
  call(), ask(1), cancel({ requestId: 1, id: 1 }), ask(2), { sent: { jsonrpc: '2.0', id: 2, result: {} } }, ask(3), asked('session/load', { sessionId: 's' }, 9),
  answer({ modes: null, configOptions: [], replayMeta: { cursor: null } }, 9), ask(4), form(5, choice),
  update({ sessionUpdate: 'usage_update', used: 0, size: 0 }), update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'completed', rawOutput: 'x' }),
  asked('session/prompt', { sessionId: 's' }, 'text'), answer({ stopReason: 'cancelled' }, 'text'),
  { jsonrpc: '2.0', method: '$/zcode/turnState', params: { sessionId: 's', running: true } },
]

function faultsOf(frames) {
  const checker = new Checker('checker', { choicesOnly: true })
  for (const frame of frames) {
    if (frame.sent) checker.sent(frame.sent)
    else checker.received(frame)
  }
  return checker.done()
}

export function selftest() {
  const unseen = Object.entries(wrong).filter(([, frames]) => faultsOf(frames).length === 0)
  for (const [name] of unseen) console.log(`FAIL the checker does not see ${name}`)
  const false_ = faultsOf(right)
  for (const fault of false_) console.log(`FAIL the checker sees what is right as wrong: ${fault}`)
  console.log(`checker: ${Object.keys(wrong).length} faults looked for, ${unseen.length} not found`)
  return unseen.length + false_.length
}
