import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { LOAD_CORE, onCore } from '../support/cores.ts'
import { option, pause } from '../support/measure.ts'
import type { Peer } from '../support/peers.ts'
import type { Figure, Round } from './figures.ts'
import { HOT } from './place.ts'

const CONNECTIONS = option('connections', 10_000)
const SETTLE_MS = 2_000
const OPEN_TIMEOUT_MS = 70_000 // then the first ones have been idle for longer than proxies allow
const COMPLAINTS_CHARACTERS_MAX = 200
const CLIENT = fileURLToPath(new URL('../support/idle-connections.ts', import.meta.url))

export const IDLE = { id: 'idle-memory', title: `${CONNECTIONS.toLocaleString('en')} idle connections, each after one request` }

/** How much resident memory the proxy's processes gain by a connection that does nothing. Measured once, and before all else. */
export async function measureIdle(proxies: readonly Peer[]): Promise<Figure> {
  const rounds = new Map<string, Round[]>()
  const failures = new Map<string, string>()
  for (const proxy of proxies) {
    try {
      rounds.set(proxy.name, [{ value: await kilobytesEach(proxy) }])
    } catch (error) {
      failures.set(proxy.name, (error as Error).message)
      rounds.set(proxy.name, [])
    }
  }
  return { ...IDLE, unit: 'KB a connection', held: [], rounds, failures, repeats: new Map() }
}

async function kilobytesEach(proxy: Peer): Promise<number> {
  const before = residentKb(proxy)
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', CLIENT, String(proxy.port), HOT, String(CONNECTIONS)]
  const client = spawn(...onCore(LOAD_CORE, command), { stdio: ['pipe', 'pipe', 'pipe'] })
  const timer = setTimeout(() => client.kill('SIGKILL'), OPEN_TIMEOUT_MS)
  const exited = new Promise<undefined>((resolve) => client.once('close', () => resolve(undefined)))
  let complaints = ''
  client.stderr.on('data', (bytes: Buffer) => {
    complaints += bytes.toString()
  })
  const said = await Promise.race([once(client.stdout, 'data').then(([bytes]) => (bytes as Buffer).toString()), exited])
  clearTimeout(timer)
  if (said === undefined)
    throw new Error(`The connections were not open after ${OPEN_TIMEOUT_MS} ms. ${complaints.slice(0, COMPLAINTS_CHARACTERS_MAX)}`)
  await pause(SETTLE_MS)
  const after = residentKb(proxy)
  client.stdin.end()
  await exited
  const open = Number(said)
  if (open !== CONNECTIONS)
    throw new Error(`${open} of ${CONNECTIONS} connections stayed open. ${complaints.slice(0, COMPLAINTS_CHARACTERS_MAX)}`)
  return (after - before) / open
}

function residentKb(proxy: Peer): number {
  return proxy
    .processes()
    .reduce((sum, pid) => sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0), 0)
}
