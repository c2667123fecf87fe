// Processor time of the proxy per request, ours beside Debian's nginx, HAProxy and Caddy: the proxy on one core, load and upstream on the other.
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseHostname } from '../src/hostname.ts'
import { freePorts } from '../test/support/tree.ts'
import { LOAD_CORE, MEASURED_CORE, onCore } from './support/cores.ts'
import { startInstallation, untilServed } from './support/installation.ts'
import { median, option, pause, processorUsOf } from './support/measure.ts'
import { layCertificate, type Peer, startPeer } from './support/peers.ts'
import { beginMeasurement } from './support/results.ts'

type LoadResult = { done: number; bad: number; example?: string }
/** What our cost may be at most, as a multiple of a peer's in the same run. */
type Held = [peer: string, gate: number, goal: number]
type Shape = { name: string; held: Held[]; load(peer: Peer, ms: number, signal: AbortSignal): Promise<LoadResult> }
/** One round: processor µs a request, requests a second, and the share of its core that the proxy used. */
type Round = { us: number; perSecond: number; share: number }

const HOSTNAME = parseHostname('bench.localhost')
const BODY = 'x'.repeat(700)
const ROUNDS = 5
const RAMP_MS = 300 // connections are made, code is warm, before the first reading
const WARM_UP_MS = 2_000 // compilers run beside the first thousands of requests, and would be counted
const TAIL_MS = 50 // the load outlasts the second reading
const START_MS = 100 // of the load generator
const READ_MS_MIN = 200
const ANSWERS_MIN = 50 // with fewer the proxy was kept from its core by something else, and the round is repeated
const TRIES = 5
const LOAD_TIMEOUT_MS = 5_000 // h2load waits for ever when a connection of its first hundred milliseconds got lost
const HANDSHAKE_CLIENT = fileURLToPath(new URL('support/handshakes.ts', import.meta.url))
const HANDSHAKES_AT_ONCE = 8

const SHAPES: Shape[] = [
  {
    name: 'HTTP/1.1, 64 connections',
    held: [
      ['nginx', 1.35, 1.2],
      ['haproxy', 1.25, 1.1],
      ['caddy', 0.45, 0.4],
    ],
    load: h2load('--h1', '-c', '64'),
  },
  { name: 'HTTP/2, 16 connections × 8 streams', held: [['nginx', 0.9, 0.75]], load: h2load('-c', '16', '-m', '8') },
  { name: 'HTTP/2, 64 connections × 1 stream', held: [['nginx', 1.3, 1.15]], load: h2load('-c', '64', '-m', '1') },
  { name: 'full TLS 1.3 handshake and one request', held: [], load: handshakes },
]

const measurement = beginMeasurement('edge')
const dir = mkdtempSync(join(tmpdir(), 'namesake-bench-'))
chmodSync(dir, 0o755) // nginx's worker gives up root
const undo = new AsyncDisposableStack()
undo.defer(() => rmSync(dir, { recursive: true, force: true }))
try {
  const [upstreamPort, ...ports] = (await freePorts(4)) as [number, number, number, number]
  const blanks = { dir, upstream: upstreamPort, hostname: HOSTNAME, body: BODY }
  const upstream = await startPeer('upstream', LOAD_CORE, { ...blanks, port: 0 })
  undo.defer(upstream.stop)
  const ours = await startInstallation({ upstreamUrl: `http://127.0.0.1:${upstreamPort}` })
  undo.defer(ours.stop)
  await ours.claim(HOSTNAME)
  await untilServed(ours, HOSTNAME)
  writeFileSync(join(dir, 'ca.pem'), ours.ca)
  layCertificate(dir, await ours.certificateOf(HOSTNAME))
  const peers: Peer[] = [{ name: 'namesake', port: ours.httpsPort, processes: () => ours.edgeMachine }]
  for (const [i, name] of (['nginx', 'haproxy', 'caddy'] as const).entries()) {
    const peer = await startPeer(name, MEASURED_CORE, { ...blanks, port: ports[i]! })
    undo.defer(peer.stop)
    peers.push(peer)
  }
  for (const peer of peers) requireUpstreamsAnswer(peer)
  await compare(peers, `http://127.0.0.1:${upstreamPort}/counted-here`)
} finally {
  await undo.disposeAsync()
}

async function compare(peers: Peer[], counter: string): Promise<void> {
  const places = SHAPES.length * peers.length
  const roundMs = (option('seconds', 60) * 1_000) / places - WARM_UP_MS
  const readMs = Math.max(READ_MS_MIN, roundMs / ROUNDS - RAMP_MS - TAIL_MS - START_MS)
  const tables = []
  const targets = []
  for (const shape of SHAPES) {
    const rounds = new Map(peers.map((peer) => [peer.name, [] as Round[]]))
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const peer of peers) {
        const figures = await measure(peer, shape, counter, round < 0 ? WARM_UP_MS : readMs)
        if (round >= 0) rounds.get(peer.name)!.push(figures) // the first one only warms up
      }
    }
    const ours = rounds.get('namesake')!
    const ratioTo = (name: string) => median(rounds.get(name)!.map(({ us }, round) => ours[round]!.us / us))
    const rows = peers.map(({ name }) => rowOf(name, rounds.get(name)!, name === 'namesake' ? '' : ratioTo(name).toFixed(2)))
    tables.push({
      title: `${shape.name}, 700-byte answers`,
      rows: [['proxy', 'µs a request', 'ours ÷ theirs', 'requests/s', 'of its core'], ...rows],
    })
    console.log(`${shape.name}: ${ratioTo('nginx').toFixed(2)} × nginx`)
    for (const [peer, gate, goal] of shape.held)
      targets.push({ what: `${shape.name}, × ${peer}`, reached: ratioTo(peer), gate, goal, smaller: true as const })
  }
  measurement.publish({ tables, targets, notes: notes(readMs) })
}

function rowOf(name: string, rounds: Round[], ratio: string): string[] {
  const of = (key: keyof Round) => median(rounds.map((round) => round[key]))
  return [name, of('us').toFixed(1), ratio, Math.round(of('perSecond')).toLocaleString('en'), `${Math.round(of('share') * 100)} %`]
}

function notes(readMs: number): string[] {
  return [
    `${ROUNDS} interleaved rounds after a longer one to warm up, ${Math.round(readMs)} ms each, read while the load runs; medians, and medians of each round's ratios.`,
    'All four serve the same certificate, write an access log to a file, and keep connections to the same upstream. Ours counts supervisor, follower and edge process; theirs all processes and threads.',
    "Requests are counted by the upstream; every answer's status is checked by the load generator, and each proxy's body beforehand.",
    'Handshakes: TLS 1.3, no session is ever offered; the client is slower than the proxies, so the proxies are not busy all the time.',
    'HTTP/1.1 is read by our own engine, HTTP/2 by node:http2, which is the default; the targets are those of the finished engine.',
  ]
}

async function measure(peer: Peer, shape: Shape, counter: string, readMs: number, tries = TRIES): Promise<Round> {
  const read = async () => ({ requests: await countOf(counter), us: processorUsOf(peer.processes()), at: performance.now() })
  const start = await countOf(counter)
  const loadMs = RAMP_MS + readMs + TAIL_MS
  const running = shape.load(peer, loadMs, AbortSignal.timeout(loadMs * 2 + LOAD_TIMEOUT_MS))
  await pause(START_MS + RAMP_MS)
  const before = await read()
  await pause(readMs)
  const after = await read()
  const result = await running.catch((error: Error) => {
    if (error.name === 'AbortError' && tries > 1) return undefined
    throw error
  })
  if (!result) return measure(peer, shape, counter, readMs, tries - 1)
  const { done, bad, example } = result
  const reached = (await countOf(counter)) - start
  if (bad || !(reached >= done))
    throw new Error(`${peer.name}, ${shape.name}: ${done} good, ${bad} bad, upstream saw ${reached}. ${example ?? ''}`)
  const requests = after.requests - before.requests
  if (requests < ANSWERS_MIN && tries > 1) return measure(peer, shape, counter, readMs, tries - 1)
  if (requests < ANSWERS_MIN) throw new Error(`${peer.name}, ${shape.name}: only ${requests} answers, ${TRIES} times`)
  const us = after.us - before.us
  const ms = after.at - before.at
  return { us: us / requests, perSecond: (requests / ms) * 1_000, share: us / 1_000 / ms }
}

/** How many requests the upstream has answered (nginx's stub_status, which counts being asked, too). */
async function countOf(counter: string): Promise<number> {
  return Number(/(\d+) \n?Reading/.exec(await (await fetch(counter)).text())![1])
}

function h2load(...shape: string[]): Shape['load'] {
  return async ({ port }, ms, signal) => {
    const target = ['--connect-to', `127.0.0.1:${port}`, '-D', `${Math.round(ms)}ms`, `https://${HOSTNAME}:${port}/`]
    const { stdout } = await promisify(execFile)(...onCore(LOAD_CORE, ['h2load', ...shape, ...target]), { signal })
    const [, done, failed, errored, timeout] = /(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/.exec(stdout) ?? []
    const [, good] = /(\d+) 2xx, 0 3xx, 0 4xx, 0 5xx/.exec(stdout) ?? []
    const bad = Number(failed) + Number(errored) + Number(timeout)
    return { done: Number(done), bad: good === undefined ? 1 : bad, example: stdout }
  }
}

async function handshakes({ port }: Peer, ms: number, signal: AbortSignal): Promise<LoadResult> {
  const client = [process.execPath, HANDSHAKE_CLIENT, String(port), HOSTNAME, String(ms), String(HANDSHAKES_AT_ONCE)]
  const { stdout } = await promisify(execFile)(...onCore(LOAD_CORE, client), { signal })
  return JSON.parse(stdout) as LoadResult
}

function requireUpstreamsAnswer({ name, port }: Peer): void {
  for (const version of ['--http1.1', '--http2']) {
    const trust = ['--cacert', join(dir, 'ca.pem'), '--resolve', `${HOSTNAME}:${port}:127.0.0.1`]
    const body = execFileSync('curl', ['-sf', version, ...trust, `https://${HOSTNAME}:${port}/`], { encoding: 'utf8' })
    if (body !== BODY) throw new Error(`${name} does not pass on the upstream's answer: ${body.slice(0, 200)}`)
  }
}
