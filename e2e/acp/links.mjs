// The ways to the hub: a WebSocket, or a command that speaks on its standard input and output.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk'
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client'
import { WebSocket } from 'ws'

// overWebSocket opens connections to url, each with a token in a header or, as browsers have to, in the address. viewer is
// a token that may only look.
export function overWebSocket(url, token, viewer) {
  const address = url.replace(/^http/, 'ws') + '/acp'
  return {
    name: 'WebSocket',
    viewer: viewer && (() => overWebSocket(url, viewer)),
    // stream is one for the SDK. It may have an end, for what the SDK leaves running.
    stream() {
      return createWebSocketStream(address, { WebSocket, headers: { Authorization: `Bearer ${token}` } })
    },
    // raw is a connection for those who write their own frames.
    raw(receive) {
      const socket = new WebSocket(`${address}?token=${encodeURIComponent(token)}`)
      socket.on('message', (data, binary) => receive(binary ? null : String(data)))
      const opened = new Promise((resolve, reject) => {
        socket.on('open', resolve)
        socket.on('error', reject)
      })
      const closed = new Promise((resolve) => socket.on('close', resolve))
      return {
        send: async (text) => {
          await opened
          socket.send(text)
        },
        close: () => {
          socket.close()
          return closed
        },
      }
    },
  }
}

// overPipes starts a command for each connection.
export function overPipes(command, args) {
  const start = () => spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const end = (child) => {
    const ended = new Promise((resolve) => child.on('exit', resolve))
    child.kill('SIGTERM') // as an editor does; the SDK holds its standard input
    return child.exitCode === null && child.signalCode === null ? ended : undefined
  }
  return {
    name: 'pipes',
    stream() {
      const child = start()
      return { ...ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), end: () => end(child) }
    },
    raw(receive) {
      const child = start()
      createInterface({ input: child.stdout }).on('line', receive)
      return { send: async (text) => child.stdin.write(text + '\n'), close: () => end(child) }
    },
  }
}
