// How long a customer waits: from the claim until the edge knows the hostname, from verification to the certificate, from the claim to the first visitor's answer.

import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startDnsServer } from '../test/support/dns.ts'
import { eventually } from '../test/support/tree.ts'
import { visit } from '../test/support/visitor.ts'
import { type Installation, startInstallation } from './support/installation.ts'
import { option, percentile } from './support/measure.ts'
import { beginMeasurement } from './support/results.ts'

const EDGE_HOST = 'edge.namesake.example'
const CLAIMS = option('claims', 200)
const VISITED = Math.ceil(CLAIMS / 4)
const ROUTABLE_TIMEOUT_MS = 10_000
const ISSUED_TIMEOUT_MS = 60_000
/** When the hostname was claimed, verified, and its certificate recorded, by the database's clock. */
const TIMES = `
  select extract(epoch from verified_at - domains.created_at) * 1000 as verified_ms,
         extract(epoch from issued.at - verified_at) * 1000 as issued_ms
    from domains
    join certificates using (hostname)
    join lateral (select max(created_at) as at from changes where kind = 'certificate' and key = hostname) as issued on true
   where hostname like 'a%' and certificates.state = 'issued'`

const measurement = beginMeasurement('journey-times', { 'claims N': 'claim N hostnames, 200 by default' })
const undo = new AsyncDisposableStack()
try {
  const upstream = createServer((_request, response) => response.end('here'))
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  undo.defer(() => void upstream.close())
  const dns = await startDnsServer()
  undo.defer(dns.stop)
  dns.set(EDGE_HOST, 'A', '127.0.0.1')
  const ours = await startInstallation({
    upstreamUrl: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    env: { NAMESAKE_EDGE_HOST: EDGE_HOST, NAMESAKE_EDGE_IPS: '127.0.0.1', NAMESAKE_DNS_SERVERS: dns.endpoint },
  })
  undo.defer(ours.stop)
  const nameFor = (series: string, i: number) => {
    const hostname = `${series}${i}.customer${i}.com`
    dns.set(hostname, 'CNAME', EDGE_HOST)
    return hostname
  }

  const routable: number[] = []
  for (let i = 0; i < CLAIMS; i += 1) routable.push(await untilRoutable(ours, nameFor('a', i)))
  await eventually(async () => (await ours.query(TIMES)).length === CLAIMS, ISSUED_TIMEOUT_MS, 200)
  const times = await ours.query<{ verified_ms: string; issued_ms: string }>(TIMES)
  const visited: number[] = []
  for (let i = 0; i < VISITED; i += 1) visited.push(await untilVisited(ours, nameFor('b', i)))

  const rows = [
    ['from → to', 'p50 (ms)', 'p99 (ms)', 'of'],
    rowOf('claim answered → routable on the edge, which had just denied the name', routable),
    rowOf(
      'claim → verified (its DNS was right already)',
      times.map((row) => Number(row.verified_ms)),
    ),
    rowOf(
      'verified → certificate issued by the built-in authority',
      times.map((row) => Number(row.issued_ms)),
    ),
    rowOf('claim answered → 200 over HTTPS to a visitor who came at once', visited),
  ]
  measurement.publish({
    tables: [{ title: `${CLAIMS} hostnames claimed one after the other through the API`, rows }],
    targets: [{ what: 'hostnames with a certificate, of all claimed', reached: times.length / CLAIMS, gate: 1, goal: 1 }],
    notes: [
      'Routable: port 80 of the edge, asked without pause on one connection, redirects instead of answering 404.',
      'Verified and issued by the clock of the database, to the start of the transaction that records it. DNS server and upstream on the same machine.',
    ],
  })
} finally {
  await undo.disposeAsync()
}

function rowOf(what: string, ms: number[]): string[] {
  return [what, percentile(ms, 0.5).toFixed(1), percentile(ms, 0.99).toFixed(1), String(ms.length)]
}

async function untilRoutable(ours: Installation, hostname: string): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  if ((await statusOnPort80(ours, hostname, agent)) !== 404) throw new Error(`${hostname} is known before its claim`)
  await ours.claim(hostname)
  const start = performance.now()
  while ((await statusOnPort80(ours, hostname, agent)) !== 308)
    if (performance.now() - start > ROUTABLE_TIMEOUT_MS) throw new Error(`${hostname} is not routable`)
  agent.destroy()
  return performance.now() - start
}

function statusOnPort80({ httpPort }: Installation, hostname: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: httpPort, headers: { host: hostname }, agent }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!))
    })
    sent.on('error', reject).end()
  })
}

async function untilVisited(ours: Installation, hostname: string): Promise<number> {
  await ours.claim(hostname)
  const start = performance.now()
  await eventually(async () => (await visit({ port: ours.httpsPort, hostname, ca: ours.ca })).status === 200, ROUTABLE_TIMEOUT_MS, 5)
  return performance.now() - start
}
