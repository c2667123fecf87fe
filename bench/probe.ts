// DNS checks a second of one process, against a resolver and two authorities that answer from another; each hostname in a zone of its own, CAA included.
import { type ChildProcess, fork } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import dnsPacket, { type Answer } from 'dns-packet'
import { parseHostname } from '../src/hostname.ts'
import { createProbe, type Probe } from '../src/probe/probe.ts'
import { option } from './support/measure.ts'
import { beginMeasurement, type Results } from './support/results.ts'

const CASES = ['absent', 'wrong', 'right']
const CHECKS_AT_ONCE = 500
const WARM_UP_MS = 1_000
const INTERVAL_S = 300
const GATE_PER_S = 100_000 / INTERVAL_S
const GOAL_PER_S = 1_000_000 / INTERVAL_S
const EDGE = 'edge.namesake.test'
const NO_SUCH_NAME = 3
const ADDRESSES = { resolver: '127.0.0.1', first: '127.0.0.2', second: '127.0.0.3' }

const HEAD = ['hostnames', 'checks/s', 'checks/s of one core', 'µs of processor a check', 'packets a check', '100,000 take (s)']

type Figures = { name: string; checksPerS: number; checksPerCoreS: number; processorUs: number; packets: number }

if (process.argv[2] === '--serve') await serve()
else await measure()

async function measure(): Promise<void> {
  const measurement = beginMeasurement('probe', { 'seconds N': 'measure for about N seconds, 15 by default' })
  const seconds = Math.max(1, option('seconds', 15) / CASES.length - WARM_UP_MS / 1_000)
  const server = fork(fileURLToPath(import.meta.url), ['--serve'])
  const [{ port }] = (await once(server, 'message')) as [{ port: number }]
  const probe = createProbe({
    edgeHost: parseHostname(EDGE),
    edgeIps: ['192.0.2.10'],
    portalHosts: [],
    servers: [`${ADDRESSES.resolver}:${port}`],
    authoritativePort: port,
    caaIssuers: ['letsencrypt.org'],
  })
  const figures: Figures[] = []
  for (const name of CASES) figures.push(await measureCase(probe, server, name, seconds))
  probe.close()
  server.disconnect()
  measurement.publish(resultsOf(figures))
}

function resultsOf(figures: Figures[]): Results {
  const reached = Math.min(...figures.map(({ checksPerCoreS }) => checksPerCoreS))
  return {
    tables: [{ title: `${CHECKS_AT_ONCE} checks at once`, rows: [HEAD, ...figures.map(toCells)] }],
    targets: [{ what: 'checks a second of one core, slowest kind', reached, gate: GATE_PER_S, goal: GOAL_PER_S }],
    notes: [`Gate and goal: 100,000 and 1,000,000 unverified domains in one interval of ${INTERVAL_S} s.`],
  }
}

function toCells({ name, checksPerS, checksPerCoreS, processorUs, packets }: Figures): string[] {
  return [
    name,
    checksPerS.toFixed(0),
    checksPerCoreS.toFixed(0),
    processorUs.toFixed(0),
    packets.toFixed(2),
    (100_000 / checksPerS).toFixed(1),
  ]
}

async function measureCase(probe: Probe, server: ChildProcess, name: string, seconds: number): Promise<Figures> {
  let serial = 0
  const wanted = { absent: 'absent', wrong: 'wrong-target', right: 'verified' }[name]
  const runUntil = async (end: number): Promise<number> => {
    let done = 0
    const worker = async () => {
      while (performance.now() < end) {
        const report = await probe.check(parseHostname(`shop.${name}${serial++}.test`), { proof: '', proofNeeded: false })
        if (report.state !== wanted) throw new Error(`${report.state} instead of ${wanted}: ${report.sentence}`)
        done++
      }
    }
    await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, worker))
    return done
  }
  await runUntil(performance.now() + WARM_UP_MS)
  const packetsBefore = await countPackets(server)
  const [start, cpuBefore] = [performance.now(), process.cpuUsage()]
  const done = await runUntil(start + seconds * 1_000)
  const [elapsedS, cpu] = [(performance.now() - start) / 1_000, process.cpuUsage(cpuBefore)]
  const packets = (await countPackets(server)) - packetsBefore
  const cpuS = (cpu.user + cpu.system) / 1_000_000
  return { name, checksPerS: done / elapsedS, checksPerCoreS: done / cpuS, processorUs: (cpuS / done) * 1_000_000, packets: packets / done }
}

async function countPackets(server: ChildProcess): Promise<number> {
  server.send('count')
  const [{ packets }] = (await once(server, 'message')) as [{ packets: number }]
  return packets
}

async function serve(): Promise<void> {
  let packets = 0
  const resolver = await listen(ADDRESSES.resolver, 0)
  const { port } = resolver.address()
  const authorities = [await listen(ADDRESSES.first, port), await listen(ADDRESSES.second, port)]
  for (const socket of [resolver, ...authorities]) {
    socket.on('message', (bytes, asker) => {
      packets++
      socket.send(answer(bytes, socket !== resolver), asker.port, asker.address)
    })
  }
  process.on('message', () => process.send!({ packets }))
  process.on('disconnect', () => process.exit())
  process.send!({ port })
}

async function listen(address: string, port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 8_388_608 })
  socket.bind(port, address)
  await once(socket, 'listening')
  return socket
}

function answer(bytes: Buffer, authoritative: boolean): Buffer {
  const query = dnsPacket.decode(bytes)
  const { name, type } = query.questions![0]!
  const { rcode = 0, ...content } = contentFor(name, type)
  const flags = (authoritative ? dnsPacket.AUTHORITATIVE_ANSWER : dnsPacket.RECURSION_AVAILABLE) | rcode
  return dnsPacket.encode({ type: 'response', id: query.id!, flags, questions: query.questions!, ...content })
}

function contentFor(name: string, type: string): { answers?: Answer[]; authorities?: Answer[]; rcode?: number } {
  const zone = name.split('.').slice(-2).join('.')
  const denial: Answer = {
    name: zone,
    type: 'SOA',
    ttl: 30,
    data: { mname: 'ns1.dns.test', rname: `a.${zone}`, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 30 },
  }
  if (type === 'NS' && name === zone)
    return { answers: ['ns1', 'ns2'].map((label) => ({ name, type: 'NS', ttl: 30, data: `${label}.dns.test` })) }
  if (type === 'A' && name === 'ns1.dns.test') return { answers: [{ name, type, ttl: 300, data: ADDRESSES.first }] }
  if (type === 'A' && name === 'ns2.dns.test') return { answers: [{ name, type, ttl: 300, data: ADDRESSES.second }] }
  if (type === 'A' && name === 'old.example.test') return { answers: [{ name, type, ttl: 30, data: '192.0.2.99' }] }
  if (name.startsWith('shop.right')) return { answers: aliasTo(name, EDGE, '192.0.2.10', type) }
  if (name.startsWith('shop.wrong')) return { answers: aliasTo(name, 'old.example.test', '192.0.2.99', type), authorities: [] }
  return { authorities: [denial], rcode: name === zone ? 0 : NO_SUCH_NAME }
}

function aliasTo(name: string, target: string, address: string, type: string): Answer[] {
  const alias: Answer = { name, type: 'CNAME', ttl: 30, data: target }
  return type === 'A' ? [alias, { name: target, type: 'A', ttl: 30, data: address }] : [alias]
}
