// From the 200 of a claim until each of 8 edges routes it: 8 machines' trees on one database, claims of several vendors at a steady rate (--seconds, --rate).
import { Agent, request } from 'node:http'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { connectToFollower } from '../src/replica/client.ts'
import { locateRun } from '../src/run-directory.ts'
import { freePorts } from '../test/support/ports.ts'
import { administer, sibling, startPostgres } from '../test/support/postgres-server.ts'
import { addVendor, eventually, startTree, type Tree } from '../test/support/tree.ts'
import { median, option, pause, percentile } from './support/measure.ts'
import { beginMeasurement } from './support/results.ts'

const EDGES = 8
const VENDORS = 4
const CAPACITY_LANES = 32
const CAPACITY_S = 4
const TICK_MS = 20
const SETTLE_TIMEOUT_MS = 30_000
const P99_GATE_MS = 1_000
const RATE_GATE = 0.95 // of the claims that were asked for; fewer is a machine that is too small, not a figure of the fleet
const seconds = option('seconds', 20)
const rate = option('rate', 500)

type Claimer = { claim(hostname: string): Promise<boolean> }
type Edge = { tree: Tree; routedAt: Map<string, number>; close(): void }

const measurement = beginMeasurement('fleet', {
  'rate N': 'make N claims a second, 500 by default',
  'seconds N': 'measure for about N seconds, 20 by default',
})
const undo = new AsyncDisposableStack()
try {
  await measure()
} finally {
  await undo.disposeAsync()
}

async function measure(): Promise<void> {
  const server = await startPostgres({ durable: true })
  undo.defer(() => server.stop())
  await administer(server.adminUrl, 'create database fleet')
  const env = {
    NAMESAKE_DATABASE_URL: sibling(server.adminUrl, 'fleet'),
    NAMESAKE_SECRET: 'the secret of a measurement is longer than 32 bytes',
    NAMESAKE_ACCESS_LOG_SAMPLE: '0',
    NAMESAKE_LOG_LEVEL: 'warn',
    NAMESAKE_EDGE_WORKERS: '1',
    NAMESAKE_PROBE_INTERVAL_S: '86400',
    NAMESAKE_DNS_SERVERS: `127.0.0.1:${(await freePorts(1))[0]}`, // no claim is to be verified: orders are another measurement
  }
  const control = await startTree({ env, args: ['--roles', 'api,worker'] })
  undo.defer(async () => void (await control.stop()))
  const claimers = await Promise.all(Array.from({ length: VENDORS }, (_, i) => openClaimer(control, `vendor-${i}`)))
  const alone = await capacity(claimers, 'alone')

  const edges: Edge[] = []
  for (let i = 0; i < EDGES; i += 1) {
    const edge = await openEdge(await startTree({ env, args: ['--roles', 'edge'] }))
    edges.push(edge)
    undo.defer(async () => {
      edge.close()
      await edge.tree.stop()
    })
  }
  const beside = await capacity(claimers, 'beside')
  await pause(2_000)

  const { answeredAt, asked, tookS } = await claimSteadily(claimers)
  const missing = () => edges.flatMap(({ routedAt }) => [...answeredAt.keys()].filter((hostname) => !routedAt.has(hostname)))
  await eventually(() => missing().length === 0, SETTLE_TIMEOUT_MS, 200).catch(() => {})
  report({ edges, answeredAt, asked, tookS, alone, beside, missing: missing().length })
}

async function openClaimer(tree: Tree, slug: string): Promise<Claimer> {
  const { token } = await addVendor(tree, slug, 'http://127.0.0.1:9')
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  undo.defer(() => agent.destroy())
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    claim: (hostname) =>
      new Promise((resolve) => {
        const sent = request(`${tree.apiUrl}/v1/edge/domains`, { method: 'POST', agent, headers }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode === 200))
        })
        sent.on('error', () => resolve(false)).end(JSON.stringify({ hostname }))
      }),
  }
}

/** Listens where the edge process does: what the follower pushes to one process it pushes to all, with the rows in the copy already. */
async function openEdge(tree: Tree): Promise<Edge> {
  const routedAt = new Map<string, number>()
  const link = connectToFollower(join(locateRun(tree.dataDir), 'follower.sock'), {
    onChanged({ routes }) {
      const at = performance.now()
      for (const hostname of routes) if (!routedAt.has(hostname)) routedAt.set(hostname, at)
    },
    onReset() {},
  })
  await eventually(() => link.status().complete)
  return { tree, routedAt, close: () => link.close() }
}

/** Claims a second with as many at once as the API takes. */
async function capacity(claimers: Claimer[], name: string): Promise<number> {
  const until = performance.now() + CAPACITY_S * 1_000
  let claimed = 0
  const lane = async (lane: number) => {
    for (let i = 0; performance.now() < until; i += 1)
      if (await claimers[lane % claimers.length]!.claim(`${name}-${lane}-${i}.fleet.test`)) claimed += 1
  }
  await Promise.all(Array.from({ length: CAPACITY_LANES }, (_, i) => lane(i)))
  return claimed / CAPACITY_S
}

/** Sends claims by the clock, whether or not the ones before were answered. */
async function claimSteadily(claimers: Claimer[]): Promise<{ answeredAt: Map<string, number>; asked: number; tookS: number }> {
  const answeredAt = new Map<string, number>()
  const under: Promise<void>[] = []
  const started = performance.now()
  let asked = 0
  const ask = async (hostname: string) => {
    if (await claimers[asked % claimers.length]!.claim(hostname)) answeredAt.set(hostname, performance.now())
  }
  while (performance.now() - started < seconds * 1_000) {
    const due = Math.floor(((performance.now() - started) / 1_000) * rate)
    for (; asked < due; asked += 1) under.push(ask(`steady-${asked}.fleet.test`))
    await pause(TICK_MS)
  }
  await Promise.all(under)
  return { answeredAt, asked, tookS: (performance.now() - started) / 1_000 }
}

type Measured = {
  edges: Edge[]
  answeredAt: Map<string, number>
  asked: number
  tookS: number
  alone: number
  beside: number
  missing: number
}

function report({ edges, answeredAt, asked, tookS, alone, beside, missing }: Measured): void {
  const delays = edges.map(({ routedAt }) =>
    [...answeredAt].flatMap(([hostname, at]) => (routedAt.has(hostname) ? [Math.max(0, routedAt.get(hostname)! - at)] : [])),
  )
  const cells = (values: number[]) => [0.5, 0.99, 1].map((share) => `${Math.round(percentile(values, share))}`)
  const whole = (value: number) => Math.round(value).toLocaleString('en')
  const reached = answeredAt.size / tookS
  const worst = Math.max(...delays.map((values) => percentile(values, 0.99)))
  measurement.publish({
    tables: [
      {
        title: `From the claim's 200 to the route at each edge, ms, ${whole(rate)} claims a second asked for`,
        rows: [
          ['edge', 'p50', 'p99', 'max'],
          ...delays.map((values, i) => [`${i + 1}`, ...cells(values)]),
          ['all', ...cells(delays.flat())],
        ],
      },
      {
        title: `Claims a second through one api process, ${CAPACITY_LANES} at once`,
        rows: [
          ['', 'claims/s'],
          ['without edges', whole(alone)],
          [`beside ${EDGES} edges`, whole(beside)],
          ['while measured', whole(reached)],
        ],
      },
    ],
    targets: [
      { what: 'p99 of the slowest edge, ms', reached: worst, gate: P99_GATE_MS, goal: P99_GATE_MS, smaller: true },
      { what: 'claims that some edge never routed', reached: missing, gate: 0, goal: 0, smaller: true },
    ],
    notes: [
      `${whole(asked)} claims of ${VENDORS} vendors were asked for in ${seconds} s, ${whole(answeredAt.size)} were answered with 200, in ${tookS.toFixed(1)} s; median of the edges' medians ${Math.round(median(delays.map(median)))} ms.`,
      reached < rate * RATE_GATE
        ? `This machine (${availableParallelism()} cores for PostgreSQL, the API, the worker, ${EDGES} edges and the load) does not make ${whole(rate)} claims a second beside ${EDGES} edges: the delays are those of an overloaded machine.`
        : `The machine made the ${whole(rate)} claims a second that were asked for, with everything on its ${availableParallelism()} cores.`,
      'A route counts from the moment at which the follower has written it to the local copy and told the edge process, on the same socket as that one.',
    ],
  })
}
