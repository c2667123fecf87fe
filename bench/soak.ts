// Ten million requests (--requests N) through one edge process, some of them given up half-way, while slow senders hold 5,000 connections (--slow N):
// memory, descriptors and open exchanges before, meanwhile and after, and whether every answer was to its own hostname.
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installMissing } from '../test/install.ts'
import { freePorts } from '../test/support/ports.ts'
import { openHttp2, openTls, RawReader, requestHttp2 } from '../test/support/raw-visitor.ts'
import { LOAD_CORE, MEASURED_CORE, moveToCore, onCore } from './support/cores.ts'
import { median, option, pause, percentile } from './support/measure.ts'
import { startPeer } from './support/peers.ts'
import { beginMeasurement } from './support/results.ts'
import type { SoakOrder, SoakReport } from './support/soak-edge.ts'

const HOSTS = ['one.customer.com', 'two.customer.com']
const REQUESTS = option('requests', 10_000_000)
const SLOW = option('slow', 5_000)
const ROUNDS = 20
const SETTLE_MS_MAX = 60_000
const ABORTERS = 8
const MB = 1_048_576

const measurement = beginMeasurement('soak', {
  'requests N': 'send N requests, ten million by default',
  'slow N': 'hold N slow connections, 5,000 by default',
})
installMissing([
  { name: 'nginx', program: 'nginx', services: ['nginx'] },
  { name: 'nghttp2-client', program: 'h2load' },
  { name: 'slowhttptest', program: 'slowhttptest' },
])
await using undo = new AsyncDisposableStack()
const dir = mkdtempSync(join(tmpdir(), 'namesake-soak-'))
chmodSync(dir, 0o755) // nginx's worker gives up root
undo.defer(() => rmSync(dir, { recursive: true, force: true }))
const [upstreamPort] = (await freePorts(1)) as [number]
// The answer names the host that it is for.
const upstream = await startPeer('upstream', LOAD_CORE, {
  dir,
  port: 0,
  upstream: upstreamPort,
  body: `$host ${'x'.repeat(600)}`,
})
undo.defer(upstream.stop)
const { edge, first } = await startEdge()
undo.defer(() => void edge.kill())
const { httpsPort, caPem } = first

const counts = { whole: 0, aborted: 0, checked: 0, late: 0, wrong: [] as string[] }
const waitsMs: number[] = []
await load(Math.min(REQUESTS / ROUNDS, 50_000)) // code is compiled and pools are filled before the first reading
const before = await settled()
const samples: SoakReport[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  await Promise.all([load(REQUESTS / ROUNDS), round === 1 ? slowSenders() : undefined])
  samples.push(await ask({ kind: 'report' }))
  process.stdout.write(`\r${counts.whole.toLocaleString('en')} requests, ${counts.aborted.toLocaleString('en')} given up   `)
}
const after = await settled()
if (counts.wrong.length > 0) console.error(`\nWrong answers: ${counts.wrong.slice(0, 3).join('; ')}`)

const early = samples.slice(ROUNDS / 5, (ROUNDS * 2) / 5).map(({ rssBytes }) => rssBytes)
const late = samples.slice((-ROUNDS * 1) / 5).map(({ rssBytes }) => rssBytes)
const shown = (bytes: number) => `${Math.round(bytes / MB)} MB`
measurement.publish({
  tables: [
    {
      title: `${counts.whole.toLocaleString('en')} whole requests, ${counts.aborted.toLocaleString('en')} given up, ${counts.checked.toLocaleString('en')} answers read and compared`,
      rows: [
        ['', 'memory', 'heap', 'descriptors', 'open', 'to the upstream'],
        ['before', ...row(before)],
        ['in the middle', ...row(samples[ROUNDS / 2]!)],
        ['at the end', ...row(samples.at(-1)!)],
        ['after', ...row(after)],
      ],
    },
  ],
  targets: [
    { what: 'memory late ÷ early', reached: median(late) / median(early), gate: 1.15, goal: 1.05, smaller: true },
    { what: 'heap after ÷ before', reached: after.heapBytes / before.heapBytes, gate: 1.25, goal: 1.1, smaller: true },
    { what: 'descriptors after − before', reached: after.descriptors - before.descriptors, gate: 0, goal: 0, smaller: true },
    { what: 'open afterwards', reached: after.open, gate: 0, goal: 0, smaller: true },
    { what: 'connections or answers later than 10 s', reached: counts.late, gate: 100, goal: 0, smaller: true },
    { what: 'wrong answers', reached: counts.wrong.length, gate: 0, goal: 0, smaller: true },
  ],
  notes: [
    `Of every round, half are HTTP/1.1 and half HTTP/2 by h2load; beside it ${ABORTERS} visitors give their requests up at random moments and others compare each answer's hostname.`,
    `In the second round slowhttptest opens ${SLOW.toLocaleString('en')} connections whose heads never end. The answers that were compared took ${Math.round(median(waitsMs))} ms (median), ${Math.round(percentile(waitsMs, 0.99))} ms (p99) over the whole run, on a machine where the load shares the cores.`,
  ],
})
edge.disconnect()

function row({ rssBytes, heapBytes, descriptors, open, upstreamConnections }: SoakReport): string[] {
  return [shown(rssBytes), shown(heapBytes), String(descriptors), String(open), String(upstreamConnections)]
}

async function startEdge(): Promise<{ edge: ChildProcess; first: SoakReport }> {
  const file = fileURLToPath(new URL('support/soak-edge.ts', import.meta.url))
  const execArgv = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--max-semi-space-size=16']
  const child = fork(file, [`http://127.0.0.1:${upstreamPort}`, ...HOSTS], { execArgv })
  const [report] = (await once(child, 'message')) as [SoakReport]
  moveToCore(MEASURED_CORE, child.pid!)
  return { edge: child, first: report }
}

async function ask(order: SoakOrder): Promise<SoakReport> {
  const answer = once(edge, 'message')
  edge.send(order)
  return (await answer)[0] as SoakReport
}

/** When nothing is open any more, or the time for that is over; after a full collection. */
async function settled(): Promise<SoakReport> {
  const endsAt = performance.now() + SETTLE_MS_MAX
  for (;;) {
    const report = await ask({ kind: 'collect' })
    if ((report.open === 0 && report.upstreamConnections === 0) || performance.now() > endsAt) return report
    await pause(500)
  }
}

async function load(requests: number): Promise<void> {
  let isOver = false
  const whole = Math.round(requests)
  const visits = [
    ...Array.from({ length: ABORTERS }, (_, i) => () => abort(i, () => isOver)),
    ...HOSTS.flatMap((host) => [() => compare1(host, () => isOver), () => compare2(host, () => isOver)]),
  ]
  const beside = visits.map((visit) => again(visit, () => isOver))
  try {
    await h2load(whole >> 1, ['--h1', '-c', '64'])
    await h2load(whole - (whole >> 1), ['-c', '16', '-m', '8'])
  } finally {
    isOver = true
  }
  await Promise.all(beside)
}

/** Begins again when a connection was not made or not answered within ten seconds, and counts that. */
async function again(visit: () => Promise<void>, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    try {
      await visit()
    } catch {
      counts.late += 1
    }
  }
}

async function h2load(requests: number, how: string[]): Promise<void> {
  const url = `https://${HOSTS[0]}:${httpsPort}/`
  const command = ['h2load', '-n', String(requests), ...how, '--connect-to', `127.0.0.1:${httpsPort}`, url]
  const { stdout } = await promisify(execFile)(...onCore(LOAD_CORE, command))
  const done = Number(/(\d+) 2xx/.exec(stdout)?.[1] ?? 0)
  counts.whole += done
  if (done !== requests) counts.wrong.push(`${requests - done} of ${requests} requests of h2load failed`)
}

/** Asks and goes: at once, after a moment, or in the middle of the answer. */
async function abort(i: number, isOver: () => boolean): Promise<void> {
  const hostname = HOSTS[i % HOSTS.length]!
  for (let n = 0; !isOver(); n += 1) {
    if (i % 2 === 0) {
      const socket = await openTls({ port: httpsPort, hostname, ca: caPem })
      const upload = n % 3 === 0
      socket.write(`${upload ? 'POST' : 'GET'} /${n} HTTP/1.1\r\nHost: ${hostname}\r\n${upload ? 'Content-Length: 1000\r\n' : ''}\r\n`)
      if (n % 4 > 0) await Promise.race([once(socket, 'data'), once(socket, 'close'), pause(n % 4)])
      socket.destroy()
      counts.aborted += 1
    } else {
      const session = await openHttp2({ port: httpsPort, hostname, ca: caPem })
      const streams = Array.from({ length: 10 }, (_, k) => session.request({ ':path': `/${k}`, ':authority': hostname }))
      for (const stream of streams) stream.on('error', () => {}).resume()
      await pause(n % 4)
      for (const stream of streams.slice(0, 5)) stream.close(8)
      await pause(n % 3)
      session.destroy()
      counts.aborted += streams.length
    }
  }
}

async function compare1(hostname: string, isOver: () => boolean): Promise<void> {
  const reader = new RawReader(await openTls({ port: httpsPort, hostname, ca: caPem }))
  while (!isOver()) {
    const startedAt = performance.now()
    reader.socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
    note(hostname, (await reader.answer()).body, startedAt)
    await pause(5)
  }
  reader.socket.destroy()
}

async function compare2(hostname: string, isOver: () => boolean): Promise<void> {
  const session = await openHttp2({ port: httpsPort, hostname, ca: caPem })
  while (!isOver()) {
    const startedAt = performance.now()
    note(hostname, (await requestHttp2(session, { ':path': '/', ':authority': hostname })).body, startedAt)
    await pause(5)
  }
  session.close()
}

function note(hostname: string, body: string, startedAt: number): void {
  counts.checked += 1
  if (waitsMs.length < 1_000_000) waitsMs.push(performance.now() - startedAt)
  if (!body.startsWith(`${hostname} `)) counts.wrong.push(`${hostname} was answered ${body.slice(0, 60)}`)
}

/** Heads that never end; without a name in the handshake, since slowhttptest knows an address only. */
async function slowSenders(): Promise<void> {
  const command = `ulimit -n ${SLOW + 1_000}; exec slowhttptest -c ${SLOW} -r 500 -H -i 2 -l 20 -u https://127.0.0.1:${httpsPort}/`
  const child = spawn('sh', ['-c', command], { stdio: 'ignore' })
  await once(child, 'exit')
}
