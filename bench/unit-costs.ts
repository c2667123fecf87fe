// What one change, poll, heartbeat, route and certificate costs: bytes in PostgreSQL, on the wire and in the local copy, and processor time of the
// database (--hostnames N). The plan for large fleets in docs/operations.md is made of these.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { type Cursor, currentCursor, readChanges } from '../src/core/changes.ts'
import { closeDatabase, connectDatabase, type Db } from '../src/core/db.ts'
import { beatEdge } from '../src/core/edges.ts'
import { migrate, readMigrations } from '../src/core/migrations.ts'
import { eachProjectPage } from '../src/core/project-pages.ts'
import { createProject } from '../src/core/projects.ts'
import { eachCertificatePage, eachRoutePage, loadCertificates, loadRouteRows } from '../src/core/routes.ts'
import { openCopyWriter } from '../src/replica/copy-writer.ts'
import type { CertificateRow } from '../src/replica/rows.ts'
import { administer, sibling, startPostgres } from '../test/support/postgres-server.ts'
import { option, processorUsOf } from './support/measure.ts'
import { createPopulation } from './support/population.ts'
import { certificatesAmong, certifiedAt, hostnameAt } from './support/population-names.ts'
import { beginMeasurement } from './support/results.ts'

/** Processor time of the database's backend, and bytes in both directions, of one call. */
type Cost = { us: number; bytes: number }

const SECRET = 'the secret of a measurement is longer than 32 bytes'
const HOSTNAMES = option('hostnames', 100_000)
const CERTIFICATES = certificatesAmong(HOSTNAMES)
const CHANGES = 100_000
const PAGE = 1_000
const BEAT_MS = 2_000
const CALLS = { poll: 3_000, changes: 500, beat: 3_000, page: 20 }

const measurement = beginMeasurement('unit-costs', { 'hostnames N': 'among N hostnames, 100,000 by default' })
const undo = new AsyncDisposableStack()
try {
  await measure()
} finally {
  await undo.disposeAsync()
}

async function measure(): Promise<void> {
  const postgres = await startPostgres({ durable: true })
  undo.defer(() => postgres.stop())
  await administer(postgres.adminUrl, 'create database namesake')
  const url = sibling(postgres.adminUrl, 'namesake')
  const db = connectDatabase(url, { applicationName: 'bench', poolMax: 1 })
  undo.defer(() => closeDatabase(db))
  await migrate(db, await readMigrations(new URL('../sql/', import.meta.url)))
  const wanted = { name: 'Bench', slug: 'bench', upstreamUrl: 'https://app.vendor.example', plan: 'unlimited' }
  await createProject(db, wanted, { plans: new Map([['unlimited', 0]]), checkUpstream: async () => {}, checkCnameTarget: async () => {} })
  await (await createPopulation(url, SECRET)).growTo(HOSTNAMES)
  const backend = await meetBackend(db)

  const perRoute = (await sizeOf(db, 'domains', 'probes')) / HOSTNAMES
  const perCertificate = (await sizeOf(db, 'certificates')) / CERTIFICATES
  const before = await sizeOf(db, 'changes')
  const start = await currentCursor(db)
  await db.pool.query(
    `insert into changes (kind, key) select 'host', 'www.c' || lpad(n::text, 7, '0') || '.example' from generate_series(1, $1) n`,
    [CHANGES],
  )
  const perChange = ((await sizeOf(db, 'changes')) - before) / CHANGES
  await db.pool.query('vacuum analyze')

  const end = await endOf(db, start)
  const poll = await backend.costOf(CALLS.poll, () => readChanges(db, end, PAGE))
  const hundred = await backend.costOf(CALLS.changes, () => readChanges(db, start, 100))
  const beat = beatOf(end)
  const beats = await backend.costOf(CALLS.beat, () => beatEdge(db, beat()))
  const names = Array.from({ length: PAGE }, (_, n) => hostnameAt(n))
  const routes = await backend.costOf(CALLS.page, () => loadRouteRows(db, names))
  const certified = Array.from({ length: PAGE }, (_, n) => certifiedAt(n))
  const certificates = await backend.costOf(CALLS.page, () => loadCertificates(db, certified))
  const claims = await copyOf(db, end, false)
  const bytesBefore = backend.bytes()
  const usBefore = backend.us()
  const all = await copyOf(db, end, true)
  const snapshotBytes = backend.bytes() - bytesBefore
  const rows = HOSTNAMES + CERTIFICATES

  measurement.publish({
    tables: [
      {
        title: 'Bytes of one row',
        rows: [
          ['what', 'PostgreSQL, with indexes', 'local copy', 'on the wire'],
          ['change', shown(perChange), '–', shown((hundred.bytes - poll.bytes) / 100)],
          ['claimed hostname', shown(perRoute), shown(claims.bytes / HOSTNAMES), shown(routes.bytes / PAGE)],
          ['certificate', shown(perCertificate), shown((all.bytes - claims.bytes) / CERTIFICATES), shown(certificates.bytes / PAGE)],
        ],
      },
      {
        title: "One call of a follower: the database's processor time, and bytes in both directions",
        rows: [
          ['call', 'µs', 'bytes'],
          ['poll that finds nothing', shown(poll.us), shown(poll.bytes)],
          ['poll that finds 100 changes', shown(hundred.us), shown(hundred.bytes)],
          ['heartbeat', shown(beats.us), shown(beats.bytes)],
          ['1,000 routes', shown(routes.us), shown(routes.bytes)],
          ['1,000 certificates', shown(certificates.us), shown(certificates.bytes)],
        ],
      },
      {
        title: `A snapshot of ${HOSTNAMES.toLocaleString('en')} hostnames and ${CERTIFICATES.toLocaleString('en')} certificates`,
        rows: [
          ['what', ''],
          ['rows a second', shown((rows / all.ms) * 1_000)],
          ['bytes on the wire (MB)', shown(snapshotBytes / 1e6)],
          ["the database's processor time, µs a row", shown((backend.us() - usBefore) / rows)],
          ["memory of a follower's connection in the database (MB)", shown(backend.memoryMb())],
        ],
      },
    ],
    notes: [
      'PostgreSQL with fsync; one connection, one call after the other. Processor time is that of the server process of this connection alone: writing the log and vacuuming are not in it.',
      'Certificates are ECDSA on P-256 with a chain of what our own authority issues: those of public authorities are two to three times as long.',
    ],
  })
}

/** The server process of the pool's only connection. */
async function meetBackend(db: Db) {
  const client = (await db.pool.connect()) as pg.PoolClient & { connection: { stream: Socket } }
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const { pid } = rows[0]!
  const { stream } = client.connection
  client.release()
  const bytes = () => stream.bytesRead + stream.bytesWritten
  const us = () => processorUsOf([pid])
  return {
    bytes,
    us,
    memoryMb: () => Number(/^Pss_Anon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1_000,
    async costOf(calls: number, call: () => Promise<unknown>): Promise<Cost> {
      for (let n = 0; n < calls / 10; n += 1) await call()
      const before = { us: us(), bytes: bytes() }
      for (let n = 0; n < calls; n += 1) await call()
      return { us: (us() - before.us) / calls, bytes: (bytes() - before.bytes) / calls }
    },
  }
}

async function sizeOf(db: Db, ...tables: string[]): Promise<number> {
  const { rows } = await db.pool.query<{ bytes: string }>(
    'select sum(pg_total_relation_size(t::regclass)) as bytes from unnest($1::text[]) t',
    [tables],
  )
  return Number(rows[0]!.bytes)
}

/** Where a reader stands that has read everything. */
async function endOf(db: Db, from: Cursor): Promise<Cursor> {
  for (let at = from; ; ) {
    const read = await readChanges(db, at, PAGE)
    if ('kind' in read) throw new Error('the feed has lost its own place')
    at = read.cursor
    if (read.changes.length < PAGE) return at
  }
}

function beatOf(place: Cursor): () => Parameters<typeof beatEdge>[1] {
  const id = randomUUID()
  const edge = { id, name: 'edge-1', address: '203.0.113.10:443', version: '0.1.0', place, routes: HOSTNAMES, certificates: CERTIFICATES }
  let n = 0
  return () => {
    n += 1
    return { ...edge, runsForMs: n * BEAT_MS, behindMs: n % 900, connections: n % 1_000, load: 0.5 }
  }
}

/** A first copy as a follower makes it: the size of its file, and how long it took. */
async function copyOf(db: Db, cursor: Cursor, withCertificates: boolean): Promise<{ bytes: number; ms: number }> {
  const dir = mkdtempSync(join(tmpdir(), 'namesake-copy-'))
  const path = join(dir, 'routes.sqlite')
  const writer = openCopyWriter(path)
  try {
    const began = performance.now()
    const certificates = withCertificates ? eachCertificatePage(db, PAGE) : none()
    const pages = { routes: eachRoutePage(db, PAGE), projects: eachProjectPage(db, PAGE), certificates }
    await writer.replaceAll({ cursor, asOfMs: Date.now(), ...pages, settings: [], challenges: [] })
    return { bytes: statSync(path).size, ms: performance.now() - began }
  } finally {
    writer.close()
    rmSync(dir, { recursive: true })
  }
}

async function* none(): AsyncIterable<CertificateRow[]> {}

function shown(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}
