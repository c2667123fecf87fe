// What of a request's cost is JavaScript of ours: both engines between sockets that are none, so that a change of some hundredths is seen where
// the whole edge's figures (edge) vary by tenths.
import type { Socket } from 'node:net'
import { PerformanceObserver } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { certificateText } from '../src/edge/certificate-text.ts'
import { type Certified, createSecureContexts } from '../src/edge/secure-contexts.ts'
import { type Hostname, parseHostname } from '../src/hostname.ts'
import type { LightRoute } from '../src/replica/rows.ts'
import { type RouteMemory, rememberAll } from '../src/roles/route-memory.ts'
import { createTestCa } from '../test/support/certificates.ts'
import { createMemoryEdge } from '../test/support/memory-edge.ts'
import { option } from './support/measure.ts'
import { nameAt } from './support/numbered-names.ts'
import { beginMeasurement } from './support/results.ts'
import { ScriptedSocket } from './support/scripted-socket.ts'
import { AUTHORITY, SCRIPTS, type Script } from './support/scripted-visitors.ts'

const ROUNDS = 5
const ROUND_REQUESTS = Math.round((option('seconds', 60) / 60) * 200_000)
const HOSTNAME = parseHostname(AUTHORITY)
const ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 22:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 700\r\nConnection: keep-alive\r\n\r\n${'x'.repeat(700)}`,
  'latin1',
)

const measurement = beginMeasurement('engine', { 'seconds N': 'measure for about N seconds, 60 by default' })
let collectingMs = 0
const observer = new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectingMs += duration
})
observer.observe({ entryTypes: ['gc'] })

const rows = [['', 'µs a request', 'of these collecting', 'without the access log']]
for (const script of SCRIPTS) {
  const whole = await measure(script, 1)
  const silent = await measure(script, 0)
  rows.push([script.title, whole.us.toFixed(2), whole.collectingUs.toFixed(2), silent.us.toFixed(2)])
  console.log(rows.at(-1)!.join('  '))
}
measurement.publish({
  tables: [{ title: '700-byte answers, routing, metrics and access log', rows }],
  notes: [
    `The best of ${ROUNDS} rounds of ${ROUND_REQUESTS.toLocaleString('en')} requests; a round's processor time is the process's, the collector's threads included.`,
    'A TLS connection, the kernel and what node does between them and us come to some 30 µs a request more over HTTP/1.1.',
  ],
})
process.exit()

/** Of the best round. */
async function measure(script: Script, accessLogSample: number): Promise<{ us: number; collectingUs: number }> {
  const edge = await createScriptedEdge(script, accessLogSample)
  await edge.serve(ROUND_REQUESTS)
  let best = { us: Number.POSITIVE_INFINITY, collectingUs: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    collectingMs = 0
    const before = process.cpuUsage()
    await edge.serve(ROUND_REQUESTS)
    const { user, system } = process.cpuUsage(before)
    const us = (user + system) / ROUND_REQUESTS
    if (us < best.us) best = { us, collectingUs: (collectingMs * 1_000) / ROUND_REQUESTS }
  }
  edge.stop()
  return best
}

async function createScriptedEdge(script: Script, accessLogSample: number) {
  const asked: ScriptedSocket[] = []
  const connect = async () => {
    const socket: ScriptedSocket = new ScriptedSocket({ onWrite: () => asked.push(socket) })
    return socket as unknown as Socket
  }
  const routes = routesOf(script)
  const certificate = await certificateFor(script)
  const edge = createMemoryEdge({
    connect,
    findHost: (hostname) => routes.get(hostname) ?? { kind: 'unknown' },
    accessLogSample,
    load: { connections: script.connections, exchanges: 0, waiting: 0, held: 0 },
  })
  const visitors = Array.from({ length: script.connections }, () => {
    const socket = new ScriptedSocket({ alpnProtocol: script.alpnProtocol })
    edge.serve(socket as unknown as TLSSocket, {
      servername: HOSTNAME,
      peer: '127.0.0.1',
      covers: (hostname) => certificate.isFor(hostname),
    })
    return { socket, visitor: script.start() }
  })
  const perTurn = script.connections * script.requestsATurn
  return {
    async serve(requests: number): Promise<void> {
      for (let done = 0; done < requests; done += perTurn) {
        for (const { socket, visitor } of visitors) visitor.sendTurn(socket)
        while (asked.length < perTurn) await nextTurn()
        for (const socket of asked.splice(0)) socket.emit('data', Buffer.from(ANSWER))
        await nextTurn()
      }
      if (edge.count() > 0) throw new Error(`${edge.count()} requests have no answer`)
    },
    stop: edge.destroy,
  }
}

function routesOf({ hostnames }: Script): RouteMemory<LightRoute> {
  const routes = rememberAll({ readRoutes: () => undefined })
  const project = { projectId: '1', projectSlug: 'bench', upstreamUrl: 'http://127.0.0.1:9000', upstreamProtocol: 'http1' as const }
  const remember = (hostname: Hostname) =>
    routes.set({ kind: 'route', route: { hostname, ...project, verified: true, proofNeeded: false } })
  remember(HOSTNAME)
  for (let number = 0; hostnames > 1 && number < hostnames; number += 1) remember(nameAt(AUTHORITY, number))
  return routes
}

async function certificateFor({ title }: Script): Promise<Certified> {
  const { chainPem, keyPem } = await (await createTestCa()).issue([AUTHORITY, `*.${AUTHORITY}`])
  return createSecureContexts(() => Number.POSITIVE_INFINITY).certify({ id: title, ...certificateText({ chainPem, keyPem }) })
}
