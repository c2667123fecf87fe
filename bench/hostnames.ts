// A million claimed hostnames, a tenth of them with certificates (--hostnames N, from --smallest N on): start, memory, look-ups, and claims that come in, beside
// Caddy, nginx and HAProxy (not with --alone, which saves nothing).
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeDatabase, connectDatabase } from '../src/core/db.ts'
import { migrate, readMigrations } from '../src/core/migrations.ts'
import { createProject } from '../src/core/projects.ts'
import { installMissing, PACKAGES } from '../test/install.ts'
import { freePorts } from '../test/support/ports.ts'
import { administer, sibling, startPostgres } from '../test/support/postgres-server.ts'
import { measureNamesake, type OursAtSize } from './support/hostnames-ours.ts'
import { measurePeer, type PeerAtSize } from './support/hostnames-peers.ts'
import { option, table } from './support/measure.ts'
import { createPopulation } from './support/population.ts'
import { certificatesAmong } from './support/population-names.ts'
import { beginMeasurement, type Results } from './support/results.ts'
import { layCertificates, PEERS, type PeerName } from './support/static-peers.ts'

type AtSize = { hostnames: number; ours: OursAtSize; peers: Map<PeerName, PeerAtSize> }

const SECRET = 'the secret of a measurement is longer than 32 bytes'
const PLANS = new Map([['unlimited', 0]])
const LARGEST = option('hostnames', 1_000_000)
const SMALLEST = option('smallest', 1_000)
const SIZES = [1_000, 10_000, 100_000, 1_000_000].filter((size) => size >= SMALLEST && size < LARGEST).concat(LARGEST)
const ALONE = process.argv.includes('--alone')
const START_MS_MAX = 3_000
const MEMORY_MB_MAX = 400
const PAUSE_MS_MAX = 50
const LOOKUP_GROWTH_MAX = { gate: 3, goal: 2 }

const measurement = beginMeasurement('hostnames', {
  'hostnames N': 'measure up to N hostnames, a million by default',
  'smallest N': 'measure from N hostnames on, 1,000 by default',
  alone: 'without the peers, and save nothing',
})
installMissing(PACKAGES.filter(({ name }) => name === 'libjemalloc2'))
const undo = new AsyncDisposableStack()
try {
  measurement.publish(resultsOf(await measureAll()), { save: !ALONE })
} finally {
  await undo.disposeAsync()
}

async function measureAll(): Promise<AtSize[]> {
  const postgres = await startPostgres({ durable: false })
  undo.defer(() => postgres.stop())
  await administer(postgres.adminUrl, 'create database namesake')
  const databaseUrl = sibling(postgres.adminUrl, 'namesake')
  const db = connectDatabase(databaseUrl, { applicationName: 'bench', poolMax: 16 })
  undo.defer(() => closeDatabase(db))
  const dir = mkdtempSync(join(tmpdir(), 'namesake-bench-'))
  undo.defer(() => rmSync(dir, { recursive: true, force: true }))
  chmodSync(dir, 0o755)

  const upstream = createServer((request, response) => void request.resume().on('end', () => response.end('x'.repeat(700))))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  undo.defer(() => void upstream.close().closeAllConnections())
  const { port: upstreamPort } = upstream.address() as AddressInfo

  await migrate(db, await readMigrations(new URL('../sql/', import.meta.url)))
  const wanted = { name: 'Bench', slug: 'bench', upstreamUrl: `http://127.0.0.1:${upstreamPort}`, plan: 'unlimited' }
  const project = await createProject(db, wanted, { plans: PLANS, checkUpstream: async () => {}, checkCnameTarget: async () => {} })
  const population = await createPopulation(databaseUrl, SECRET)
  const caFile = join(dir, 'ca.pem')
  writeFileSync(caFile, population.press.caPem)

  const measured: AtSize[] = []
  let laid = 0
  for (const hostnames of SIZES) {
    console.log(`${hostnames.toLocaleString('en')} hostnames`)
    await population.growTo(hostnames)
    const home = join(dir, `with-${hostnames}`)
    mkdirSync(home, { mode: 0o711 })
    const env = { NAMESAKE_DATABASE_URL: databaseUrl, NAMESAKE_SECRET: SECRET }
    const isLargest = hostnames === LARGEST
    const ours = await measureNamesake({ home, env, hostnames, caFile, db, project, fillMemory: isLargest })
    rmSync(home, { recursive: true })
    console.log(table([['namesake', ''], ...Object.entries(ours).map(([what, value]) => [what, String(value)])]))
    const peers = new Map<PeerName, PeerAtSize>()
    if (!ALONE) layCertificates(dir, population.press, laid, certificatesAmong(hostnames))
    laid = certificatesAmong(hostnames)
    for (const name of ALONE ? [] : PEERS) {
      const [port] = (await freePorts(1)) as [number]
      peers.set(name, await measurePeer(name, { dir, port, upstream: upstreamPort }, { hostnames, caFile }))
      console.log(name, JSON.stringify(peers.get(name)))
    }
    measured.push({ hostnames, ours, peers })
  }
  return measured
}

function resultsOf(measured: readonly AtSize[]): Results {
  const heading = (first: string) => [first, ...measured.map(({ hostnames }) => hostnames.toLocaleString('en'))]
  const row = (what: string, of: (at: AtSize) => number, digits = 0) => [what, ...measured.map((at) => shown(of(at), digits))]
  const ofPeer = (name: PeerName, of: (peer: PeerAtSize & { kind: 'loaded' }) => number, digits = 0) =>
    row(
      name,
      ({ peers }) => {
        const peer = peers.get(name)
        return peer?.kind === 'loaded' ? of(peer) : Number.NaN
      },
      digits,
    )
  const [smallest, largest] = [measured[0]!, measured.at(-1)!]
  const growth = (of: (ours: OursAtSize) => number) => of(largest.ours) / of(smallest.ours)
  const compared = (
    title: string,
    ours: (ours: OursAtSize) => number,
    theirs: (peer: PeerAtSize & { kind: 'loaded' }) => number,
    digits = 0,
  ) => ({
    title,
    rows: [heading('hostnames'), row('namesake', (at) => ours(at.ours), digits), ...PEERS.map((name) => ofPeer(name, theirs, digits))],
  })
  return {
    tables: [
      {
        title:
          'Certificates: what each serves, of a tenth of the hostnames; what the others cannot load within a minute, they are given half of, and so on',
        rows: [
          heading('hostnames'),
          row('namesake', ({ hostnames }) => certificatesAmong(hostnames)),
          ...PEERS.map((name) => ofPeer(name, ({ certificates }) => certificates)),
        ],
      },
      compared(
        'From start to first answer (s): namesake with a warm local copy; the others with those certificates alone',
        (ours) => ours.startMs / 1_000,
        (peer) => peer.startMs / 1_000,
        2,
      ),
      compared(
        'Memory after the start (MB): one edge process; the others whole',
        (ours) => ours.startMb,
        (peer) => peer.startMb,
      ),
      compared(
        'Memory after visits of hostnames drawn by chance (MB)',
        (ours) => ours.usedMb,
        (peer) => peer.usedMb,
      ),
      compared(
        'Processor time of a full handshake and a request for a hostname drawn by chance (µs)',
        (ours) => ours.visitUs,
        (peer) => peer.visitUs,
      ),
      {
        title: 'namesake alone',
        rows: [
          heading('hostnames'),
          row('first local copy, from the database (s)', ({ ours }) => ours.snapshotMs / 1_000, 1),
          row('local copy on disk (MB)', ({ ours }) => ours.copyMb),
          row('memory of the follower after the first copy (MB)', ({ ours }) => ours.followerMb),
          row('look-up in the copy, claimed hostname (µs)', ({ ours }) => ours.hitUs, 1),
          row('look-up in the copy, unclaimed hostname (µs)', ({ ours }) => ours.missUs, 1),
          row('look-up in the copy, certificate (µs)', ({ ours }) => ours.certificateUs, 1),
          row('claims a second, while visited', ({ ours }) => ours.claimsPerS),
          row('longest pause of the edge process before the claims, at most (ms)', ({ ours }) => ours.edgePauseBeforeMs),
          row('longest pause of the edge process meanwhile, at most (ms)', ({ ours }) => ours.edgePauseMs),
          row('longest pause of the follower meanwhile, at most (ms)', ({ ours }) => ours.followerPauseMs),
          row('visit meanwhile, p50 (ms)', ({ ours }) => ours.visitP50Ms, 1),
          row('visit meanwhile, p99 (ms)', ({ ours }) => ours.visitP99Ms, 1),
          row('from claim to copy, p50 (ms)', ({ ours }) => ours.knownP50Ms),
        ],
      },
    ],
    targets: [
      atMost('start to first answer (s)', largest.ours.startMs / 1_000, START_MS_MAX / 1_000),
      atMost('memory of an edge process, its memories full (MB)', largest.ours.usedMb, MEMORY_MB_MAX),
      atMost('longest pause of the edge during 1,000 claims a second (ms)', largest.ours.edgePauseMs, PAUSE_MS_MAX),
      atMost(
        `look-up of a claimed hostname, × with ${smallest.hostnames.toLocaleString('en')}`,
        growth(({ hitUs }) => hitUs),
        LOOKUP_GROWTH_MAX.gate,
        LOOKUP_GROWTH_MAX.goal,
      ),
      atMost(
        `look-up of a certificate, × with ${smallest.hostnames.toLocaleString('en')}`,
        growth(({ certificateUs }) => certificateUs),
        LOOKUP_GROWTH_MAX.gate,
        LOOKUP_GROWTH_MAX.goal,
      ),
    ],
    notes: [
      'A tenth of the hostnames have certificates of their own, all with one key pair. Our starts are medians of three, of the whole service with its role edge, theirs are single ones; everything else of the machine rests. nginx and HAProxy read every certificate at the start, Caddy and ours when somebody first comes for it.',
      'Pauses are upper bounds of a histogram that each process keeps (namesake_event_loop_pause_seconds); pauses below 10 ms count as none, and those of the follower below 50 ms. On a busy machine they tell how long a process waited for a core: compare with those before the claims.',
    ],
  }
}

function atMost(what: string, reached: number, gate: number, goal = gate) {
  return { what, reached, gate, goal, smaller: true as const }
}

function shown(value: number, digits: number): string {
  return Number.isNaN(value) ? '–' : value.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits })
}
