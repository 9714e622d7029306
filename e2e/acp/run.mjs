// Runs every scenario against a hub with the simulated app-server:
//
//   node run.mjs ws URL TOKEN [VIEWER]   over /acp; VIEWER is a token that may only look
//   node run.mjs stdio COMMAND ARG...    over the command's standard input and output
//   node run.mjs golden DIR              checks the transcripts in a folder, without a hub
//   node run.mjs checker                 checks the checker
//
// ONLY=word runs the scenarios whose name contains the word.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { frameFaults } from './frames.mjs'
import { overPipes, overWebSocket } from './links.mjs'
import { scenarios } from './scenarios.mjs'
import { selftest } from './selftest.mjs'

const [how, ...rest] = process.argv.slice(2)

async function main() {
  switch (how) {
    case 'ws':
      return play(overWebSocket(...rest))
    case 'stdio':
      return play(overPipes(rest[0], rest.slice(1)))
    case 'golden':
      return golden(rest[0])
    case 'checker':
      return selftest()
  }
  throw new Error('usage: node run.mjs ws URL TOKEN [VIEWER] | stdio COMMAND ARG... | golden DIR | checker')
}

async function play(transport) {
  const only = process.env.ONLY ?? ''
  let failed = 0
  let frames = 0
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (!name.includes(only)) continue
    const begun = Date.now()
    const stage = new Stage(transport)
    let faults, notRun
    try {
      notRun = await Promise.race([scenario(stage), overdue()]) // a scenario that does not apply says why
      faults = await stage.close()
    } catch (error) {
      faults = [error.stack ?? String(error), ...(await stage.close())]
    }
    frames += stage.frames
    const verdict = faults.length ? 'FAIL' : notRun ? `not run, ${notRun}:` : 'ok  '
    console.log(`${verdict} ${name} (${Date.now() - begun} ms, ${stage.frames} frames)`)
    for (const fault of faults) console.log(`  ${fault}`)
    if (faults.length) failed++
  }
  console.log(`${transport.name}: ${frames} frames checked, ${failed} scenarios failed`)
  return failed
}

// scenarioTime is many times what the longest scenario takes.
const scenarioTime = 120_000

// overdue fails a scenario that waits for an answer which does not come: clients have no timeout of their own.
function overdue() {
  return new Promise((_, reject) => setTimeout(() => reject(new Error('the scenario does not end')), scenarioTime).unref())
}

// Stage has the clients of one scenario.
class Stage {
  clients = []

  constructor(transport) {
    this.transport = transport
  }

  async join(client) {
    this.clients.push(client)
    await client.initialize()
    return client
  }

  get frames() {
    return this.clients.reduce((sum, client) => sum + client.checker.frames, 0)
  }

  async leave(client) {
    this.left = [...(this.left ?? []), ...(await client.close())]
    client.gone = true
  }

  async close() {
    const faults = [...(this.left ?? [])]
    for (const client of this.clients) {
      if (!client.gone) faults.push(...(await client.close()))
    }
    return faults
  }
}

// golden checks transcripts: arrays of the frames that a client was sent.
function golden(dir) {
  let checked = 0
  let failed = 0
  for (const file of readdirSync(dir).filter((name) => name.endsWith('.json'))) {
    for (const [index, frame] of JSON.parse(readFileSync(join(dir, file), 'utf8')).entries()) {
      if (frame.method === undefined) continue // an answer: of what it is does not stand here
      checked++
      const faults = frameFaults(frame)
      if (faults.length) {
        failed++
        console.log(`FAIL ${file}, frame ${index + 1}\n  ${faults.join('\n  ')}\n  ${JSON.stringify(frame).slice(0, 600)}`)
      }
    }
  }
  console.log(`golden: ${checked} frames checked, ${failed} failed`)
  if (checked === 0) throw new Error(`there are no frames in ${dir}`)
  return failed
}

main().then(
  (failed) => process.exit(failed ? 1 : 0),
  (error) => {
    console.error(error)
    process.exit(2)
  },
)
