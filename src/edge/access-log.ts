import { LineBytes } from '../lib/line-bytes.ts'
import type { LineSink } from '../log.ts'
import type { Exchange } from './engine.ts'
import type { Outcome } from './outcome.ts'
import type { RequestId } from './request-ids.ts'

/** What is said of a request. Its path is shown without the query, which often holds what nobody should read. */
export type LoggedVisit = {
  readonly exchange: Pick<Exchange, 'method' | 'target' | 'protocol' | 'bytesSent'>
  readonly requestId: RequestId
  readonly hostname: string
  readonly project: string | undefined
  readonly client: string
  readonly outcome: Outcome
  readonly tunnelBytes: number
  /** What the last line of the same connection said. */
  readonly view: { readonly lastSaid: LastSaid }
}

const PATH_CHARACTERS_MAX = 1_024
/** The longest registered one has 17 (RFC 3253). Whoever makes one up can say four thousand characters of it in a byte, again and again (RFC 7541). */
const METHOD_CHARACTERS_MAX = 64
const COPIED_CHARACTERS_MIN = 13
const HOSTNAME = Buffer.from('","hostname":"')
const PROJECT = Buffer.from('","project":"')
const METHOD = Buffer.from('","method":"')
const PATH = Buffer.from('","path":"')
const PROTOCOL = Buffer.from('","protocol":"')
const CLIENT = Buffer.from('","client":"')
const STATUS = Buffer.from('","status":')
const BYTES = Buffer.from(',"bytes":')
const UPSTREAM_MS = Buffer.from(',"upstreamMs":')
const HELD_MS = Buffer.from(',"heldMs":')
const TOTAL_MS = Buffer.from(',"totalMs":')
const ATTEMPTS = Buffer.from(',"attempts":')
const ERROR = Buffer.from(',"error":"')
const DETAIL = Buffer.from('","detail":"')
const QUOTE = Buffer.from('"')
const END = Buffer.from(',"msg":"request"}\n')
const ZERO = 48

/** One JSON line a request, like the other lines of the log, for the given share of them (0 to 1). `now` as Date.now. */
export function createAccessLog({ line, ended }: LineSink, sample: number, now: () => number) {
  const beginningAt = createBeginnings()
  return ({ exchange, requestId, hostname, project, client, outcome, tunnelBytes, view }: LoggedVisit, totalMs: number) => {
    if (sample < 1 && Math.random() >= sample) return
    line.bytes(beginningAt(now()))
    if (typeof requestId === 'string') line.plain(requestId)
    else line.few(requestId.bytes, requestId.at, requestId.end)
    view.lastSaid.putBeforePath(line, hostname, project, shownOf(exchange.method))
    line.json(pathOf(exchange.target))
    view.lastSaid.putBehindPath(line, exchange.protocol, client)
    line.integer(outcome.status)
    line.bytes(BYTES)
    line.integer(exchange.bytesSent + tunnelBytes)
    if (outcome.upstreamMs !== undefined) {
      line.bytes(UPSTREAM_MS)
      line.tenths(outcome.upstreamMs)
    }
    if (outcome.heldMs !== undefined) {
      line.bytes(HELD_MS)
      line.tenths(outcome.heldMs)
    }
    line.bytes(TOTAL_MS)
    line.tenths(totalMs)
    if (outcome.attempts > 1) {
      line.bytes(ATTEMPTS)
      line.integer(outcome.attempts)
    }
    const error = outcome.failure ?? outcome.visitor
    if (error !== undefined) {
      line.bytes(ERROR)
      line.plain(error)
      if (outcome.detail !== undefined) {
        line.bytes(DETAIL)
        line.json(outcome.detail)
      }
      line.bytes(QUOTE)
    }
    line.bytes(END)
    ended()
  }
}

/** What lines of one connection say again and again. Kept ready as bytes from the second time on: a quarter less for a line, but memory. */
export class LastSaid {
  /** The first one said with this project and method, for which all is kept. A proxy's connection says another one each time. */
  #hostname = ''
  #project: string | undefined
  #method: string | undefined
  #beforePath: Uint8Array | undefined
  #behindHostname: Uint8Array | undefined
  #protocol = ''
  #client = ''
  #behindPath: Uint8Array | undefined

  putBeforePath(line: LineBytes, hostname: string, project: string | undefined, method: string): void {
    if (project !== this.#project || method !== this.#method) {
      this.#hostname = hostname
      this.#project = project
      this.#method = method
      this.#beforePath = undefined
      this.#behindHostname = undefined
      putHostname(line, hostname)
      putBehindHostname(line, project, method)
    } else if (hostname === this.#hostname) {
      this.#beforePath ??= keepBeforePath(hostname, project, method)
      line.bytes(this.#beforePath)
    } else {
      this.#behindHostname ??= keepBehindHostname(project, method)
      putHostname(line, hostname)
      line.bytes(this.#behindHostname)
    }
  }

  putBehindPath(line: LineBytes, protocol: string, client: string): void {
    if (protocol === this.#protocol && client === this.#client) {
      this.#behindPath ??= keepBehindPath(protocol, client)
      line.bytes(this.#behindPath)
      return
    }
    this.#protocol = protocol
    this.#client = client
    this.#behindPath = undefined
    putBehindPath(line, protocol, client)
  }
}

function putHostname(line: LineBytes, hostname: string): void {
  line.bytes(HOSTNAME)
  line.plain(hostname)
}

function putBehindHostname(line: LineBytes, project: string | undefined, method: string): void {
  if (project !== undefined) {
    line.bytes(PROJECT)
    line.json(project)
  }
  line.bytes(METHOD)
  line.json(method) // a refused one may be none
  line.bytes(PATH)
}

function putBehindPath(line: LineBytes, protocol: string, client: string): void {
  line.bytes(PROTOCOL)
  line.plain(protocol)
  line.bytes(CLIENT)
  line.plain(client)
  line.bytes(STATUS)
}

const PIECE_BYTES_EXPECTED_MAX = 512
const piece = new LineBytes(PIECE_BYTES_EXPECTED_MAX)

// Functions with their arguments: closures over them would be paid for by every line, also where nothing is to be kept.
function keepBeforePath(hostname: string, project: string | undefined, method: string): Uint8Array {
  putHostname(piece, hostname)
  putBehindHostname(piece, project, method)
  return takePiece()
}

function keepBehindHostname(project: string | undefined, method: string): Uint8Array {
  putBehindHostname(piece, project, method)
  return takePiece()
}

function keepBehindPath(protocol: string, client: string): Uint8Array {
  putBehindPath(piece, protocol, client)
  return takePiece()
}

/** What was put together, in memory of its own, since it stays as long as its connection. */
function takePiece(): Uint8Array {
  return new Uint8Array(piece.take())
}

export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return target.slice(0, Math.min(end < 0 ? target.length : end, PATH_CHARACTERS_MAX))
}

/** In memory of its own, as it stays as long as its connection: V8 copies shorter strings when it cuts them, and longer ones keep what they were cut from. */
function shownOf(method: string): string {
  return method.length < COPIED_CHARACTERS_MIN ? method : Buffer.from(method.slice(0, METHOD_CHARACTERS_MAX), 'latin1').toString('latin1')
}

/** Up to the request's id; only the milliseconds change within a second. */
function createBeginnings() {
  let lastSecond = Number.NaN
  let bytes = Buffer.alloc(0)
  let millisecondsAt = 0
  let lastMs = Number.NaN
  return (nowMs: number): Buffer => {
    if (nowMs === lastMs) return bytes
    lastMs = nowMs
    const second = Math.floor(nowMs / 1000)
    if (second !== lastSecond) {
      lastSecond = second
      const time = new Date(second * 1000).toISOString()
      bytes = Buffer.from(`{"level":"info","time":"${time}","pid":${process.pid},"name":"edge","requestId":"`)
      millisecondsAt = bytes.indexOf('.000Z') + 1
    }
    const milliseconds = nowMs - second * 1000
    bytes[millisecondsAt] = ZERO + Math.floor(milliseconds / 100)
    bytes[millisecondsAt + 1] = ZERO + (Math.floor(milliseconds / 10) % 10)
    bytes[millisecondsAt + 2] = ZERO + (milliseconds % 10)
    return bytes
  }
}
