import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { isIPv6, type Socket as TcpSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import dnsPacket, { type Answer, type DecodedPacket, type Packet } from 'dns-packet'
import { bindBoth, freePort } from './ports.ts'

export type DnsType = 'A' | 'AAAA' | 'CNAME' | 'DNAME' | 'TXT' | 'NS' | 'SOA' | 'CAA' | 'DS' | 'DNSKEY' | 'MX'
type Transport = 'udp' | 'tcp'

/**
 * How a server treats a name, for both transports unless said: an error code, no answer at all, an answer cut short over UDP, before its records or
 * within the last, none over TCP, one
 * whose signatures are wrong (SERVFAIL unless checking is disabled), FORMERR to a query with EDNS, a DNAME without the CNAME that it stands for, one that
 * comes late. `only` narrows it to some types.
 */
export type Behaviour = {
  rcode?: number
  drop?: true
  truncate?: true | 'within a record'
  noTcp?: true
  bogus?: true
  noEdns?: true
  dnameAlone?: true
  latencyMs?: number
  only?: DnsType[]
}

export type DnsServer = {
  address: string
  port: number
  /** `address:port`, as NAMESAKE_DNS_SERVERS wants it. */
  endpoint: string
  /**
   * Replaces a record set. Values as in a zone file, names without a final dot, case kept; a CAA value as `0 issue "ca.example"`. MX records are given also
   * where a CNAME stands beside them, as by servers that take both.
   */
  set(name: string, type: DnsType, ...values: string[]): void
  unset(name: string, type: DnsType): void
  /** `*` stands for every name that has no behaviour of its own. */
  behave(name: string, behaviour: Behaviour): void
  /** Passes questions on that end in this zone, also by an alias, to a server at 127.0.0.1: as a resolver does with a delegated zone. */
  forward(zone: string, port: number): void
  /** What was asked since the start, newest last. */
  queries: { name: string; type: string; transport: Transport }[]
  /** Called before each UDP answer: may send packets of its own, from this server's socket or another, to the asker. */
  onQuery: ((query: DecodedPacket, asker: { address: string; port: number }, socket: Socket) => void) | undefined
  stop(): Promise<void>
}

export type DnsOptions = {
  address?: string
  port?: number
  /** A resolver follows CNAMEs through all its records; an authority answers for its zones alone, and refers to delegated ones. */
  role?: 'resolver' | 'authority'
  zones?: string[]
}

const AA = 0x0400
const TC = 0x0200
const RA = 0x0080
const CD = 0x0010
const NO_ERROR = 0
const FORMAT_ERROR = 1
const SERVER_FAILURE = 2
const NO_SUCH_NAME = 3
const REFUSED = 5
const PORT_TRIES = 20
const TTL_S = 30

/** A real DNS server on UDP and TCP at one loopback port, whose records and misbehaviour a test sets. */
export async function startDnsServer(options: DnsOptions = {}): Promise<DnsServer> {
  const address = options.address ?? '127.0.0.1'
  const { udp, tcp, port } = await bindBoth(address, options.port ?? 0)
  const records = new Map<string, Answer[]>()
  const forwarded = new Map<string, number>()
  const behaviours = new Map<string, Behaviour>()
  const behaviourOf = (name: string, type: string): Behaviour => {
    const behaviour = behaviours.get(name.toLowerCase()) ?? behaviours.get('*') ?? {}
    return behaviour.only && !behaviour.only.includes(type as DnsType) ? {} : behaviour
  }
  const server: DnsServer = {
    address,
    port,
    endpoint: isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`,
    set: (name, type, ...values) =>
      void records.set(
        keyOf(name, type),
        values.map((value) => toAnswer(name, type, value)),
      ),
    unset: (name, type) => void records.delete(keyOf(name, type)),
    forward: (zone, to) => void forwarded.set(zone, to),
    behave: (name, behaviour) => void behaviours.set(name.toLowerCase(), behaviour),
    queries: [],
    onQuery: undefined,
    async stop() {
      for (const timer of late) clearTimeout(timer)
      udp.close()
      tcp.close()
      for (const socket of connections) socket.destroy()
      await once(tcp, 'close')
    },
  }
  const connections = new Set<TcpSocket>()
  const late = new Set<NodeJS.Timeout>()

  function answer(bytes: Buffer, transport: Transport, send: (reply: Buffer) => void): void {
    const query = dnsPacket.decode(bytes)
    const question = query.questions![0]!
    const behaviour = behaviourOf(question.name, question.type)
    server.queries.push({ name: question.name, type: question.type, transport })
    if (behaviour.drop || (behaviour.noTcp && transport === 'tcp')) return
    const cut = behaviour.truncate === 'within a record' && transport === 'udp' ? cutShort : (whole: Buffer) => whole
    const reply = async () => send(cut(dnsPacket.encode(await passOn(question.type as DnsType, replyTo(query, behaviour, transport)))))
    if (behaviour.latencyMs) late.add(setTimeout(() => void reply(), behaviour.latencyMs))
    else void reply()
  }

  async function passOn(type: DnsType, reply: Packet): Promise<Packet> {
    const aliases = reply.answers?.filter((record) => record.type === 'CNAME') ?? []
    const name = String(aliases.length > 0 ? dataOf(aliases.at(-1)!) : reply.questions![0]!.name).toLowerCase()
    const port = [...forwarded].find(([zone]) => isWithin(zone, name))?.[1]
    if (port === undefined || (type === 'CNAME' && aliases.length > 0)) return reply
    const found = await askOnce(port, name, type)
    const flags = ((reply.flags ?? 0) & ~15) | ((found?.flags ?? SERVER_FAILURE) & 15)
    return { ...reply, flags, answers: [...aliases, ...(found?.answers ?? [])], authorities: found?.authorities ?? [] }
  }

  function replyTo(query: DecodedPacket, behaviour: Behaviour, transport: Transport): Packet {
    const question = query.questions![0]!
    const base = { type: 'response' as const, id: query.id!, questions: [question], flags: options.role === 'authority' ? AA : RA }
    if (behaviour.rcode !== undefined) return { ...base, flags: base.flags | behaviour.rcode }
    if (behaviour.noEdns && query.additionals!.length > 0) return { ...base, flags: base.flags | FORMAT_ERROR }
    if (behaviour.bogus && ((query.flags ?? 0) & CD) === 0) return { ...base, flags: base.flags | SERVER_FAILURE }
    if (behaviour.truncate === true && transport === 'udp') return { ...base, flags: base.flags | TC }
    const found = findAnswer(question.name.toLowerCase(), question.type as DnsType, base.flags)
    const dname = behaviour.dnameAlone && found.answers?.find(({ type }) => type === 'DNAME')
    return { ...base, ...(dname ? { answers: [dname] } : found) }
  }

  function findAnswer(name: string, type: DnsType, flags: number): Partial<Packet> {
    const zone = zoneOf(name)
    if (options.role === 'authority') {
      if (zone === undefined) return { flags: (flags & ~AA) | REFUSED }
      const cut = delegationOf(name, zone)
      if (cut) return { flags: flags & ~AA, authorities: cut, additionals: cut.flatMap((ns) => glueOf(String(dataOf(ns)))) }
    }
    const answers: Answer[] = []
    let current = name
    for (let n = 0; n < 20; n++) {
      const dname = dnameAbove(current)
      if (dname) {
        const target = `${current.slice(0, -dname.name.length)}${dataOf(dname)}`
        answers.push(dname, toAnswer(current, 'CNAME', target))
        current = target.toLowerCase()
        if (type === 'CNAME') return { answers }
        continue
      }
      const isGivenItself = type === 'CNAME' || (type === 'MX' && recordsOf(current, 'MX').length > 0)
      const alias = isGivenItself ? undefined : recordsOf(current, 'CNAME')[0]
      if (!alias) break
      answers.push(alias)
      current = String(dataOf(alias)).toLowerCase()
    }
    const found = recordsOf(current, type)
    if (found.length > 0) return { answers: [...answers, ...found] }
    const denying = zoneOf(current)
    const authorities = denying === undefined ? [] : [toAnswer(denying, 'SOA', `ns.${denying}`)]
    return { answers, authorities, flags: flags | (exists(sourceOf(current)) ? NO_ERROR : NO_SUCH_NAME) }
  }

  function dnameAbove(name: string): Answer | undefined {
    const above = name.split('.').map((_, n, labels) => labels.slice(n + 1).join('.'))
    return above.flatMap((each) => records.get(keyOf(each, 'DNAME')) ?? [])[0]
  }

  /** The AAAA records stand first, as with many registries. */
  function glueOf(name: string): Answer[] {
    return (['AAAA', 'A'] as const).flatMap((type) => records.get(keyOf(name, type)) ?? [])
  }

  function recordsOf(name: string, type: DnsType): Answer[] {
    const found = records.get(keyOf(sourceOf(name), type)) ?? []
    return found.map((record) => ({ ...record, name: exists(name) ? record.name : name }))
  }

  /** A name that does not exist has the records of the wildcard below the closest name that does, however many labels are between (RFC 4592 §3.3). */
  function sourceOf(name: string): string {
    if (exists(name)) return name
    let encloser = name
    while (encloser.includes('.') && !exists(encloser)) encloser = encloser.slice(encloser.indexOf('.') + 1)
    return `*.${encloser}`
  }

  function zoneOf(name: string): string | undefined {
    return (options.zones ?? []).filter((zone) => isWithin(zone, name)).sort((a, b) => b.length - a.length)[0]
  }

  function delegationOf(name: string, zone: string): Answer[] | undefined {
    for (let cut = name; cut !== zone; cut = cut.slice(cut.indexOf('.') + 1)) {
      const nameServers = records.get(keyOf(cut, 'NS'))
      if (nameServers) return nameServers
    }
    return undefined
  }

  function exists(name: string): boolean {
    return (
      [...records.keys()].some((key) => isWithin(name, key.split(' ')[1]!)) || (options.zones ?? []).some((zone) => isWithin(name, zone))
    )
  }

  udp.on('message', (bytes, asker) => {
    server.onQuery?.(dnsPacket.decode(bytes), asker, udp)
    answer(bytes, 'udp', (reply) => udp.send(reply, asker.port, asker.address))
  })
  tcp.on('connection', (socket) => {
    connections.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => connections.delete(socket))
    socket.on('data', (bytes) => answer(bytes.subarray(2), 'tcp', (reply) => socket.end(Buffer.concat([lengthOf(reply), reply]))))
  })
  return server
}

/** Authorities at one port and at 127.0.0.2, 127.0.0.3, …, because a probe asks all authorities at one port. */
export async function startAuthorities(zones: string[][], from = 2): Promise<DnsServer[]> {
  for (let n = 0; n < PORT_TRIES; n++) {
    const started: DnsServer[] = []
    try {
      for (const [index, own] of zones.entries()) {
        started.push(
          await startDnsServer({ role: 'authority', zones: own, address: `127.0.0.${from + index}`, port: started[0]?.port ?? 0 }),
        )
      }
      return started
    } catch {
      await Promise.all(started.map((server) => server.stop()))
    }
  }
  throw new Error('no port is free at all the addresses')
}

/** A real authority, NSD, that serves zones given as zone files (without SOA and NS of the apex: those are `nameServers`). */
export async function startNsd(options: {
  address: string
  port: number
  zones: Record<string, { nameServers: string[]; records: string }>
}): Promise<{ stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'namesake-nsd-'))
  const zones = Object.entries(options.zones)
  for (const [zone, { nameServers, records }] of zones) {
    const apex = [
      `$ORIGIN ${zone}.`,
      '$TTL 30',
      `@ SOA ${nameServers[0]}. admin.${zone}. 1 3600 600 86400 30`,
      ...nameServers.map((name) => `@ NS ${name}.`),
    ]
    await writeFile(join(folder, `${zone}.zone`), `${[...apex, records].join('\n')}\n`)
  }
  const server = [
    'server:',
    ` ip-address: ${options.address}@${options.port}`,
    ' username: ""',
    ' chroot: ""',
    ' server-count: 1',
    ' verbosity: 1',
    ...['zonesdir', 'xfrdir'].map((key) => ` ${key}: "${folder}"`),
    ` database: ""`,
    ` pidfile: "${folder}/nsd.pid"`,
    ` zonelistfile: "${folder}/zone.list"`,
    ` xfrdfile: "${folder}/xfrd.state"`,
    'remote-control:',
    ' control-enable: no',
    ...zones.map(([zone]) => `zone:\n name: "${zone}"\n zonefile: "${zone}.zone"`),
  ]
  await writeFile(join(folder, 'nsd.conf'), `${server.join('\n')}\n`)
  const child = spawn('nsd', ['-d', '-c', join(folder, 'nsd.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  await untilNsdServes(child)
  return {
    async stop() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** pebble-challtestsrv as resolver: answers 127.0.0.1 to every A query unless told otherwise through `command`. */
export async function startChallengeTestServer(): Promise<{
  endpoint: string
  command(path: string, body: object): Promise<void>
  stop(): Promise<void>
}> {
  const [dnsPort, managementPort] = [await freePort(), await freePort()]
  const flags = ['-http01', '', '-https01', '', '-tlsalpn01', '']
  const addresses = ['-dns01', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${managementPort}`]
  const child = spawn('pebble-challtestsrv', [...flags, ...addresses, '-defaultIPv6', ''], { stdio: ['ignore', 'pipe', 'pipe'] })
  const management = `http://127.0.0.1:${managementPort}`
  await untilItAnswers(child, management)
  return {
    endpoint: `127.0.0.1:${dnsPort}`,
    async command(path, body) {
      const response = await fetch(`${management}/${path}`, { method: 'POST', body: JSON.stringify(body) })
      if (!response.ok) throw new Error(`pebble-challtestsrv refused ${path}: ${response.status}`)
    },
    async stop() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}

/** One question over UDP to 127.0.0.1, without recursion; undefined when no answer comes within two seconds. */
async function askOnce(port: number, name: string, type: DnsType): Promise<DecodedPacket | undefined> {
  const socket = createSocket('udp4')
  try {
    socket.send(dnsPacket.encode({ type: 'query', id: 1, questions: [{ name, type }] }), port, '127.0.0.1')
    const [bytes] = (await once(socket, 'message', { signal: AbortSignal.timeout(10_000) })) as [Buffer]
    return dnsPacket.decode(bytes)
  } catch {
    return undefined
  } finally {
    socket.close()
  }
}

function keyOf(name: string, type: string): string {
  return `${type} ${name.toLowerCase()}`
}

function toAnswer(name: string, type: DnsType, value: string): Answer {
  const head = { name, ttl: TTL_S }
  if (type === 'CAA') {
    const [, flags, tag, text] = /^(\d+) (\w+) "(.*)"$/.exec(value)!
    return { ...head, type, data: { flags: Number(flags), tag: tag as 'issue', value: text!, issuerCritical: (Number(flags) & 128) !== 0 } }
  }
  if (type === 'SOA')
    return {
      ...head,
      type,
      data: { mname: value, rname: `admin.${name}`, serial: 1, refresh: 3600, retry: 600, expire: 86_400, minimum: 30 },
    }
  if (type === 'MX') {
    const [preference, exchange] = value.split(' ')
    return { ...head, type, data: { preference: Number(preference), exchange: exchange! } }
  }
  if (type === 'TXT') return { ...head, type, data: value.match(/.{1,255}/gs) ?? [''] }
  if (type === 'DS') return { ...head, type, data: { keyTag: 1, algorithm: 13, digestType: 2, digest: Buffer.from(value) } }
  if (type === 'DNSKEY') return { ...head, type, data: { flags: 257, algorithm: 13, key: Buffer.from(value) } }
  return { ...head, type, data: value } as Answer
}

function dataOf(answer: Answer): unknown {
  return 'data' in answer ? answer.data : undefined
}

/** Every name is within the root, ''. */
function isWithin(zone: string, name: string): boolean {
  return zone === '' || name === zone || name.endsWith(`.${zone}`)
}

function cutShort(message: Buffer): Buffer {
  const cut = Buffer.from(message.subarray(0, -1))
  cut.writeUInt16BE(cut.readUInt16BE(2) | TC, 2)
  return cut
}

function lengthOf(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return length
}

function untilNsdServes(child: ChildProcess): Promise<void> {
  let output = ''
  return new Promise((resolve, reject) => {
    child.stderr!.on('data', (chunk) => {
      output += String(chunk)
      if (output.includes('nsd started')) resolve()
    })
    child.on('error', reject)
    child.on('exit', () => reject(new Error(`nsd ended: ${output}`)))
  })
}

async function untilItAnswers(child: ChildProcess, url: string): Promise<void> {
  let output = ''
  child.stdout!.on('data', (chunk) => (output += String(chunk)))
  child.stderr!.on('data', (chunk) => (output += String(chunk)))
  while (child.exitCode === null) {
    const answered = await fetch(url).then(
      () => true,
      () => false,
    )
    if (answered) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`pebble-challtestsrv ended: ${output}`)
}
