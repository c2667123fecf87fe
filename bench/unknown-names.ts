// What handshakes for unregistered names do to the visitors of a registered one: one edge process on one core; none, 2,000 and 10,000 a second (--rate N).
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseHostname } from '../src/hostname.ts'
import { freePorts } from '../test/support/ports.ts'
import { LOAD_CORE, onCore } from './support/cores.ts'
import { type Installation, startInstallation, untilServed } from './support/installation.ts'
import { option, pause, percentile, processorUsOf } from './support/measure.ts'
import { startPeer } from './support/peers.ts'
import { beginMeasurement } from './support/results.ts'

type Visits = { ms: number[]; failed: number }
type Flood = { sent: number; refused: number; otherwise: number; heldBack: number; seconds: number }
type Phase = {
  flood: Flood | undefined
  fresh: Visits
  kept: Visits
  transactionsPerS: number
  orders: number
  logBytes: number
  edgeShare: number
  edgeMb: number
}

const HOSTNAME = parseHostname('bench.localhost')
const NAMES_PER_S = option('rate', 10_000)
const VISIT_EVERY_MS = 25
const VISIT_TIMEOUT_MS = 5_000
const SETTLE_MS = 1_500
const FLOOD_CLIENT = fileURLToPath(new URL('support/unknown-hellos.ts', import.meta.url))

const measurement = beginMeasurement('unknown-names', {
  'rate N': 'send up to N handshakes a second, 10,000 by default',
  'seconds N': 'measure for about N seconds, 45 by default',
})
const rates = [0, NAMES_PER_S / 5, NAMES_PER_S]
const phaseMs = (option('seconds', 45) * 1_000) / rates.length - SETTLE_MS
const dir = mkdtempSync(join(tmpdir(), 'namesake-bench-'))
chmodSync(dir, 0o755)
const undo = new AsyncDisposableStack()
undo.defer(() => rmSync(dir, { recursive: true, force: true }))
try {
  const [upstreamPort] = (await freePorts(1)) as [number]
  const upstream = await startPeer('upstream', LOAD_CORE, {
    dir,
    upstream: upstreamPort,
    port: 0,
    body: 'x'.repeat(700),
  })
  undo.defer(upstream.stop)
  // Without the access log, whatever is logged is about the flood.
  const ours = await startInstallation({
    upstreamUrl: `http://127.0.0.1:${upstreamPort}`,
    env: { NAMESAKE_ACCESS_LOG_SAMPLE: '0' },
  })
  undo.defer(ours.stop)
  await ours.claim(HOSTNAME)
  await untilServed(ours, HOSTNAME)
  await visitFor(ours, SETTLE_MS, false)
  const phases: Phase[] = []
  for (const rate of rates) phases.push(await phase(ours, rate))
  report(phases)
} finally {
  await undo.disposeAsync()
}

async function phase(ours: Installation, rate: number): Promise<Phase> {
  const [transactions, orders, bytes, us, start] = [
    await transactionsOf(ours),
    await ordersOf(ours),
    ours.logBytes(),
    edgeUs(ours),
    performance.now(),
  ]
  const flooding = rate > 0 ? flood(ours.httpsPort, rate) : undefined
  const [fresh, kept] = await Promise.all([visitFor(ours, phaseMs, false), visitFor(ours, phaseMs, true)])
  const ms = performance.now() - start
  const edgeShare = (edgeUs(ours) - us) / 1_000 / ms
  const edgeMb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${ours.edge}/status`, 'utf8'))![1]) / 1_024
  const result = await flooding
  await pause(SETTLE_MS) // what the flood caused has reached the database's counters and the log
  const transactionsPerS = ((await transactionsOf(ours)) - transactions) / ((performance.now() - start) / 1_000)
  const caused = { orders: (await ordersOf(ours)) - orders, logBytes: ours.logBytes() - bytes }
  return { flood: result, fresh, kept, transactionsPerS, ...caused, edgeShare, edgeMb }
}

/** At the lowest priority, so that the visitors' own clock is not held up by the flood's sender. */
async function flood(port: number, rate: number): Promise<Flood> {
  const client = ['nice', '-n', '19', process.execPath, FLOOD_CLIENT, String(port), String(rate), String(phaseMs)]
  const { stdout } = await promisify(execFile)(...onCore(LOAD_CORE, client))
  return JSON.parse(stdout) as Flood
}

function edgeUs({ edge }: Installation): number {
  return processorUsOf([edge])
}

async function transactionsOf(ours: Installation): Promise<number> {
  const [row] = await ours.query<{ n: string }>(`select xact_commit + xact_rollback as n from pg_stat_database where datname = 'namesake'`)
  return Number(row!.n)
}

/** Certificates that exist, are under way or wished for. Other jobs end meanwhile, and would hide as many orders. */
async function ordersOf(ours: Installation): Promise<number> {
  const [row] = await ours.query<{ n: string }>(
    "select (select count(*) from certificates) + (select count(*) from graphile_worker.jobs where task_identifier = 'issue') as n",
  )
  return Number(row!.n)
}

/** Visits at even distances, whether or not earlier ones have ended: each on a connection of its own, or all on kept ones. */
async function visitFor(ours: Installation, ms: number, keepAlive: boolean): Promise<Visits> {
  const agent = new Agent({ keepAlive, maxCachedSessions: 0 })
  const visits: Visits = { ms: [], failed: 0 }
  const running = new Set<Promise<void>>()
  const end = performance.now() + ms
  while (performance.now() < end) {
    const started = performance.now()
    const visit: Promise<void> = visitOnce(ours, agent)
      .then(() => void visits.ms.push(performance.now() - started))
      .catch(() => {
        visits.failed += 1
      })
      .finally(() => running.delete(visit))
    running.add(visit)
    await pause(VISIT_EVERY_MS)
  }
  await Promise.all(running)
  agent.destroy()
  return visits
}

function visitOnce({ httpsPort, ca }: Installation, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const to = {
      host: '127.0.0.1',
      port: httpsPort,
      servername: HOSTNAME,
      ca,
      agent,
      headers: { host: HOSTNAME },
      timeout: VISIT_TIMEOUT_MS,
    }
    const sent = request(to, (answer) => {
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      answer.on('end', () => (answer.statusCode === 200 && bytes === 700 ? resolve() : reject(new Error(`status ${answer.statusCode}`))))
      answer.on('error', reject)
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', reject)
    sent.end()
  })
}

function report(phases: Phase[]): void {
  const [without, , during] = phases as [Phase, Phase, Phase]
  const row = (what: string, of: (phase: Phase) => string) => [what, ...phases.map(of)]
  const perS = (flood: Flood | undefined) => (flood ? flood.sent / flood.seconds : 0)
  const asked = ({ ms, failed }: Visits) => ms.length + failed
  const usEach = ((during.edgeShare - without.edgeShare) * 1_000_000) / perS(during.flood)
  const timesWithout = (of: (phase: Phase) => Visits) => percentile(of(during).ms, 0.5) / percentile(of(without).ms, 0.5)
  const rows = [
    ['', 'without', 'with a few', 'with the flood'],
    row('unregistered names a second', ({ flood: sent }) => Math.round(perS(sent)).toLocaleString('en')),
    row('of them refused with an alert', ({ flood: sent }) => (sent ? `${((sent.refused / sent.sent) * 100).toFixed(2)} %` : '')),
    row('visits on new connections: good of all', ({ fresh }) => `${fresh.ms.length} of ${asked(fresh)}`),
    row('their time, p50 and p99 (ms)', ({ fresh }) => times(fresh)),
    row('visits on kept connections: good of all', ({ kept }) => `${kept.ms.length} of ${asked(kept)}`),
    row('their time, p50 and p99 (ms)', ({ kept }) => times(kept)),
    row('certificate orders', ({ orders }) => String(orders)),
    row('database transactions a second', ({ transactionsPerS }) => transactionsPerS.toFixed(1)),
    row('bytes logged', ({ logBytes }) => logBytes.toLocaleString('en')),
    row('of its core that the edge used', ({ edgeShare }) => `${Math.round(edgeShare * 100)} %`),
    row('memory of the edge process (MB)', ({ edgeMb }) => String(Math.round(edgeMb))),
  ]
  const atMost = (what: string, reached: number, gate: number, goal: number) => ({ what, reached, gate, goal, smaller: true as const })
  const served = (during.fresh.ms.length + during.kept.ms.length) / (asked(during.fresh) + asked(during.kept))
  measurement.publish({
    tables: [{ title: `One visit every ${VISIT_EVERY_MS} ms of each kind, ${Math.round(phaseMs / 1_000)} s a column`, rows }],
    targets: [
      { what: 'visits served under the flood', reached: served, gate: 1, goal: 1 },
      { what: 'unregistered names a second', reached: Math.round(perS(during.flood)), gate: NAMES_PER_S * 0.95, goal: NAMES_PER_S * 0.95 },
      atMost(
        'median visit on a kept connection, × without',
        timesWithout(({ kept }) => kept),
        2,
        1.5,
      ),
      atMost(
        'median visit on a new connection, × without',
        timesWithout(({ fresh }) => fresh),
        2,
        1.5,
      ),
      atMost('orders caused', Math.max(...phases.map(({ orders }) => orders)), 0, 0),
      atMost('bytes logged', Math.max(...phases.map(({ logBytes }) => logBytes)), 10_000, 1_000),
      atMost('database transactions a second, × without', during.transactionsPerS / without.transactionsPerS, 1.2, 1.1),
    ],
    notes: [
      `${NAMES_PER_S.toLocaleString('en')} a second were wanted; ${during.flood!.heldBack.toLocaleString('en')} were not sent because 2,000 were open already.`,
      `Each is a TCP connection with a whole ClientHello for a name never used before, from 200 addresses; a refusal costs the edge ${usEach.toFixed(0)} µs of processor.`,
      'The edge process has one core; the sender (at the lowest priority), the visitors, the upstream and PostgreSQL share the other.',
      'Transactions are what the idle installation makes by itself (the sweeps, the follower) and this measurement reading the counters.',
    ],
  })
}

function times({ ms }: Visits): string {
  return `${percentile(ms, 0.5).toFixed(1)}, ${percentile(ms, 0.99).toFixed(1)}`
}
