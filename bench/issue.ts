// From the wish for a certificate until it is on disk, ours beside Debian's lego, against the same Pebble: one after the other, and 20 at once (--names N).

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { installMissing } from '../test/install.ts'
import { type Pebble, startPebble } from '../test/support/pebble.ts'
import { freePorts } from '../test/support/ports.ts'
import { type Installation, startInstallation } from './support/installation.ts'
import { createLego, type Lego } from './support/lego.ts'
import { median, option, pause, percentile } from './support/measure.ts'
import { beginMeasurement } from './support/results.ts'

const NAMES = option('names', 200)
const ALONE = Math.ceil(NAMES / 5) // one after the other lego takes more than five seconds for each
const ROUNDS = 4
const AT_ONCE = 20
const ISSUED_TIMEOUT_MS = 60_000
const LOOK_EVERY_MS = 2
const EDGE_HOST = 'edge.namesake.example'
const OUR_ADDRESS = '127.0.0.1'
const GATE = 1
const GOAL = 1

type Client = { name: string; obtain(hostname: string): Promise<void> }

const measurement = beginMeasurement('issue', { 'names N': 'issue for N names, 200 by default' })
installMissing([
  { name: 'pebble', program: 'pebble' },
  { name: 'lego', program: 'lego' },
])
const undo = new AsyncDisposableStack()
try {
  const [httpPort] = (await freePorts(1)) as [number]
  const pebble = await startPebble({ httpPort })
  undo.defer(pebble.stop)
  const upstream = createServer((_request, response) => response.end('here')).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  undo.defer(() => void upstream.close())
  const ours = await startOurs(pebble, httpPort, `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
  undo.defer(ours.stop)
  const lego = createLego({ directoryUrl: pebble.directoryUrl, caFile: pebble.caFile, httpPort })
  undo.defer(lego.stop)
  await compare([clientOf(ours), legoClient(lego, pebble)])
} finally {
  await undo.disposeAsync()
}

function startOurs(pebble: Pebble, httpPort: number, upstreamUrl: string): Promise<Installation> {
  return startInstallation({
    upstreamUrl,
    anyCore: true,
    env: {
      ...{ NAMESAKE_EDGE_HOST: EDGE_HOST, NAMESAKE_EDGE_IPS: OUR_ADDRESS, NAMESAKE_DNS_SERVERS: pebble.dnsServer },
      ...{ NAMESAKE_ACME_DIRECTORY: pebble.directoryUrl, NAMESAKE_ACME_CA_FILE: pebble.caFile },
      NAMESAKE_HTTP_ADDR: `${OUR_ADDRESS}:${httpPort}`,
    },
  })
}

/** The claim through the API, its DNS check, the order by the worker, the store, the feed: until the machine's local copy has the certificate. */
function clientOf(ours: Installation): Client {
  const copy = () => new DatabaseSync(join(ours.dataDir, 'copy', 'routes.sqlite'), { readOnly: true })
  return {
    name: 'namesake',
    async obtain(hostname) {
      await ours.claim(hostname)
      const file = copy()
      const stored = file.prepare('select 1 from certificates where hostname = ? and chain_pem is not null')
      const deadline = performance.now() + ISSUED_TIMEOUT_MS
      while (!stored.get(hostname)) {
        if (performance.now() > deadline) throw new Error(`${hostname} got no certificate`)
        await pause(LOOK_EVERY_MS)
      }
      file.close()
    },
  }
}

/** Each process listens on an address of its own, to which the name leads: Pebble connects to one port. */
function legoClient(lego: Lego, pebble: Pebble): Client {
  let at = 0
  return {
    name: 'lego',
    async obtain(hostname) {
      at += 1
      const address = `127.0.${1 + (at >> 8)}.${at & 255}`
      await pebble.setDns({ command: 'add-a', body: { host: hostname, addresses: [address] } })
      await lego.run(hostname, address)
    },
  }
}

async function compare(clients: readonly [Client, Client]): Promise<void> {
  for (const client of clients) await client.obtain(`warm.${client.name}.example`)
  const names = (client: Client, how: string, of: number) =>
    Array.from({ length: Math.ceil(of / ROUNDS) }, (_, i) => `${how}-${i}.${client.name}.example`)
  const alone = new Map(clients.map((client) => [client, [] as number[]]))
  const together = new Map(clients.map((client) => [client, { ms: [] as number[], wallMs: [] as number[] }]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const client of clients) alone.get(client)!.push(...(await measure(client, names(client, `alone${round}`, ALONE), 1)).ms)
    for (const client of clients) {
      const { ms, wallMs } = await measure(client, names(client, `together${round}`, NAMES), AT_ONCE)
      together.get(client)!.ms.push(...ms)
      together.get(client)!.wallMs.push(wallMs / ms.length)
    }
  }
  report(clients, alone, together)
}

async function measure(client: Client, hostnames: string[], atOnce: number): Promise<{ ms: number[]; wallMs: number }> {
  const ms: number[] = []
  const began = performance.now()
  const waiting = [...hostnames]
  const lane = async () => {
    for (let hostname = waiting.shift(); hostname !== undefined; hostname = waiting.shift()) {
      const start = performance.now()
      await client.obtain(hostname)
      ms.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return { ms, wallMs: performance.now() - began }
}

function report(
  clients: readonly [Client, Client],
  alone: Map<Client, number[]>,
  together: Map<Client, { ms: number[]; wallMs: number[] }>,
): void {
  const [ours, theirs] = clients
  const row = ({ name }: Client, ms: number[], each: number[]) => [
    name,
    ...[0.5, 0.99].map((share) => percentile(ms, share).toFixed(0)),
    median(each).toFixed(0),
  ]
  const heading = ['', 'p50 (ms)', 'p99 (ms)', 'ms of the whole a certificate, median']
  measurement.publish({
    tables: [
      {
        title: `${ALONE} names, one after the other`,
        rows: [heading, ...clients.map((one) => row(one, alone.get(one)!, alone.get(one)!))],
      },
      {
        title: `${NAMES} names, ${AT_ONCE} at once`,
        rows: [heading, ...clients.map((one) => row(one, together.get(one)!.ms, together.get(one)!.wallMs))],
      },
    ],
    targets: [
      {
        ...{ what: 'one after the other, median, × lego', gate: GATE, goal: GOAL, smaller: true },
        reached: median(alone.get(ours)!) / median(alone.get(theirs)!),
      },
      {
        ...{ what: `${AT_ONCE} at once, time of the whole, × lego`, gate: GATE, goal: GOAL, smaller: true },
        reached: median(together.get(ours)!.wallMs) / median(together.get(theirs)!.wallMs),
      },
    ],
    notes: [
      `Ours: from the claim's request to the API, over the DNS check, the order, and PostgreSQL, until the certificate is in the machine's local copy (SQLite). Theirs: one process of \`lego run\` a name, its account made before.`,
      "Most of lego's time is its own wait of five seconds before it looks at a validation for the second time.",
      `${ROUNDS} rounds, taking turns. One Pebble for both (PEBBLE_VA_NOSLEEP=1, no rejected nonces, no reuse of authorizations), HTTP-01, keys on P-256. A directory on this machine has no limits, so ours takes no room in the issuance ledger.`,
    ],
  })
}
