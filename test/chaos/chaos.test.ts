import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isRunning, signal } from '../../src/processes.ts'
import { eventually } from '../support/tree.ts'
import { chooseFaults } from './faults/catalogue.ts'
import { namespacesAreAllowed } from './lab.ts'
import { descendants } from './processes.ts'

const SCRIPT = fileURLToPath(new URL('run.ts', import.meta.url))
const SEED = 6
/** On top of the 5 s that are promised: other tests run beside this one. */
const PATIENCE = 4
const RUN_TIMEOUT_MS = 2_400_000 // four minutes where nothing else runs
const GONE_TIMEOUT_MS = 60_000

type Outcome = { fault: string; requests: number; broken: string[] }

const isOwn = namespacesAreAllowed()
const faults = chooseFaults({ short: true, only: '' }).filter((fault) => isOwn || !fault.namespacesOnly)

describe(`a fleet of eleven machines (${isOwn ? 'in network namespaces' : 'over loopback relays, since no namespaces are allowed here'})`, () => {
  const outcomes: Outcome[] = []
  let told = ''
  let run: ChildProcess | undefined

  beforeAll(async () => {
    run = start('--short', '--json', '--seed', String(SEED), '--patience', String(PATIENCE))
    createInterface({ input: run.stdout! }).on('line', (line) => outcomes.push(JSON.parse(line) as Outcome))
    run.stderr!.setEncoding('utf8').on('data', (text: string) => {
      told += text
    })
    await once(run, 'close')
  }, RUN_TIMEOUT_MS)

  afterAll(() => void run?.kill('SIGKILL'))

  test.each(faults.map(({ name }) => name))(
    '%s: nobody is served wrongly, nothing acknowledged is lost, and soon all agree again',
    (name) => {
      const outcome = outcomes.find(({ fault }) => fault === name)
      expect(outcome, told).toBeDefined()
      expect(outcome!.broken).toEqual([])
      expect(outcome!.requests).toBeGreaterThan(0)
    },
  )
})

describe('whoever ends the run early', () => {
  let run: ChildProcess
  afterAll(() => run.kill('SIGKILL'))

  test.runIf(isOwn)('with kill -9 leaves no process behind', async () => {
    run = start('--short', '--json')
    await untilMachinesStart(run)
    const started = descendants(run.pid!)
    expect(started.length).toBeGreaterThan(5)
    signal(run.pid!, 'SIGKILL')
    await eventually(() => !started.some(isRunning), GONE_TIMEOUT_MS)
  })

  test('with Ctrl-C, twice, leaves no process behind', async () => {
    run = start('--short', '--json')
    await untilMachinesStart(run)
    const started = descendants(run.pid!)
    const gone = once(run, 'exit')
    const first = commandIn(started)
    signal(first, 'SIGINT')
    await new Promise((resolve) => run.stderr!.once('data', resolve))
    signal(first, 'SIGINT')
    await gone
    await eventually(() => !started.some(isRunning), GONE_TIMEOUT_MS)
  })
})

function start(...options: string[]): ChildProcess {
  const flags = ['--disable-warning=ExperimentalWarning', SCRIPT, '--no-save', ...options]
  return spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] })
}

async function untilMachinesStart(run: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: run.stderr! })) if (line.endsWith(' the machines')) return
}

/** The process that obeys Ctrl-C: in a lab of its own there are its makers before it. */
function commandIn(pids: readonly number[]): number {
  return pids[isOwn ? 2 : 0]!
}
