import { randomInt } from 'node:crypto'
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { answersQuestion, decodeMessage, encodeQuery, HEADER_BYTES, type Message, type Question } from '../lib/dns-message.ts'
import type { Server } from './servers.ts'

/** Resolves to the answer, or to undefined when none that fits came before `endsAt` (on performance.now()'s clock). */
export type Udp = {
  ask(server: Server, question: Question, endsAt: number, edns: boolean): Promise<Message | undefined>
  /** Whether packets to addresses of this family leave the machine, as far as was seen within the last minute. */
  reaches(address: string): boolean
  close(): void
}

const SOCKETS_A_FAMILY = 16
const SOCKET_QUERIES_MAX = 4_000 // then the port is left, so that who listens in on one cannot use it for long
const SWEEP_EVERY_MS = 25
const RECEIVE_BUFFER_BYTES = 1_048_576
const NO_WAY_MS = 60_000
const NO_WAY: (string | undefined)[] = ['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']

const TRUNCATED = 0x0200
const COUNTS_START = 6 // those of the records, behind the one of the questions

type Waiting = { server: Server; question: Question; endsAt: number; settle(message: Message | undefined): void }
type Port = { socket: Socket; waiting: Map<number, Waiting>; queries: number; retired: boolean }

/**
 * A pool of UDP sockets. Each query leaves from a random port of the pool with a random id, and only an answer from
 * the asked address and port with that id and question is believed (RFC 5452 §9.1); anything else is dropped and waiting goes on.
 * One timer serves all deadlines.
 */
export function createUdp(): Udp {
  const pools = { udp4: [] as Port[], udp6: [] as Port[] }
  const noWayUntil = { udp4: 0, udp6: 0 }
  const open = new Set<Port>()
  let sweeper: NodeJS.Timeout | undefined
  let closed = false

  function sweep(): void {
    const now = performance.now()
    let left = 0
    for (const port of open) {
      for (const [id, waiting] of port.waiting) {
        if (waiting.endsAt <= now) finish(port, id, waiting, undefined)
      }
      left += port.waiting.size
    }
    if (left > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  function finish(port: Port, id: number, waiting: Waiting, message: Message | undefined): void {
    port.waiting.delete(id)
    if (port.retired && port.waiting.size === 0) leave(port)
    waiting.settle(message)
  }

  function leave(port: Port): void {
    if (open.delete(port)) port.socket.close()
  }

  function pickPort(family: 'udp4' | 'udp6'): Port {
    const pool = pools[family]
    const index = randomInt(SOCKETS_A_FAMILY)
    const known = pool[index]
    if (known && !known.retired && known.queries < SOCKET_QUERIES_MAX) return known
    if (known) retire(known)
    pool[index] = openPort(family)
    return pool[index]
  }

  function retire(port: Port): void {
    port.retired = true
    if (port.waiting.size === 0) leave(port)
  }

  function openPort(family: 'udp4' | 'udp6'): Port {
    // Servers are given by address: the lookup that Node would do for each packet is a waste.
    const lookup = (address: string, _: unknown, done: (error: null, address: string, family: number) => void) => done(null, address, 4)
    const socket = createSocket({ type: family, recvBufferSize: RECEIVE_BUFFER_BYTES, lookup: lookup as never })
    const port: Port = { socket, waiting: new Map(), queries: 0, retired: false }
    socket.on('message', (bytes, from) => receive(port, bytes, from))
    socket.on('error', (error) => {
      learn(family, error)
      retire(port)
    })
    open.add(port)
    return port
  }

  function learn(family: 'udp4' | 'udp6', error: NodeJS.ErrnoException | null): void {
    if (error && NO_WAY.includes(error.code)) noWayUntil[family] = performance.now() + NO_WAY_MS
  }

  function receive(port: Port, bytes: Buffer, from: RemoteInfo): void {
    if (bytes.length < HEADER_BYTES) return
    const waiting = port.waiting.get(bytes.readUInt16BE(0))
    if (!waiting || from.port !== waiting.server.port || from.address !== waiting.server.address) return
    if (!answersQuestion(bytes, waiting.question)) return
    // One that cannot be read is its server's answer all the same: to wait for another one would be to read as many as it likes to send.
    finish(port, bytes.readUInt16BE(0), waiting, readMessage(isTruncated(bytes) ? withoutRecords(bytes) : bytes))
  }

  return {
    ask(server, question, endsAt, edns) {
      if (closed) return Promise.resolve(undefined)
      const family = familyOf(server.address)
      const port = pickPort(family)
      const id = freeId(port)
      const query = encodeQuery(id, question, edns)
      port.queries++
      sweeper ??= setInterval(sweep, SWEEP_EVERY_MS)
      return new Promise((settle) => {
        const waiting: Waiting = { server, question, endsAt, settle }
        port.waiting.set(id, waiting)
        port.socket.send(query, server.port, server.address, (error) => {
          learn(family, error)
          if (error && port.waiting.get(id) === waiting) finish(port, id, waiting, undefined)
        })
      })
    },
    reaches: (address) => noWayUntil[familyOf(address)] <= performance.now(),
    close() {
      closed = true
      clearInterval(sweeper)
      for (const port of open) {
        port.retired = true
        for (const [id, waiting] of port.waiting) finish(port, id, waiting, undefined)
        leave(port)
      }
    },
  }
}

/** Undefined for what is malformed. */
export function readMessage(bytes: Buffer): Message | undefined {
  try {
    return decodeMessage(bytes)
  } catch {
    return undefined
  }
}

function isTruncated(bytes: Buffer): boolean {
  return (bytes.readUInt16BE(2) & TRUNCATED) !== 0
}

/** The head and the question, which say that TCP has the rest: what there is may end within a record (RFC 2181 §9). */
function withoutRecords(bytes: Buffer): Buffer {
  return Buffer.from(bytes).fill(0, COUNTS_START, HEADER_BYTES)
}

function familyOf(address: string): 'udp4' | 'udp6' {
  return address.includes(':') ? 'udp6' : 'udp4'
}

function freeId(port: Port): number {
  let id = randomInt(65_536)
  while (port.waiting.has(id)) id = randomInt(65_536)
  return id
}
