import type { LineSink } from '../log.ts'
import type { Exchange } from './engine.ts'
import type { Forwarded } from './forward.ts'
import type { RequestId } from './request-ids.ts'

/** What is said of a request. Its path is shown without the query, which often holds what nobody should read. */
export type LoggedVisit = {
  readonly exchange: Pick<Exchange, 'method' | 'target' | 'protocol' | 'bytesSent'>
  readonly requestId: RequestId
  readonly hostname: string
  readonly project: string | undefined
  readonly client: string
  readonly outcome: Forwarded
  readonly tunnelBytes: number
}

const PATH_CHARACTERS_MAX = 1_024
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
const ERROR = Buffer.from(',"error":"')
const QUOTE = Buffer.from('"')
const END = Buffer.from(',"msg":"request"}\n')
const ZERO = 48

/** One JSON line a request, like the other lines of the log, for the given share of them (0 to 1). `now` as Date.now. */
export function createAccessLog({ line, ended }: LineSink, sample: number, now: () => number) {
  const beginningAt = createBeginnings()
  return ({ exchange, requestId, hostname, project, client, outcome, tunnelBytes }: LoggedVisit, totalMs: number) => {
    if (sample < 1 && Math.random() >= sample) return
    line.bytes(beginningAt(now()))
    if (typeof requestId === 'string') line.plain(requestId)
    else line.few(requestId.bytes, requestId.at, requestId.end)
    line.bytes(HOSTNAME)
    line.plain(hostname)
    if (project !== undefined) {
      line.bytes(PROJECT)
      line.json(project)
    }
    line.bytes(METHOD)
    line.plain(exchange.method)
    line.bytes(PATH)
    line.json(pathOf(exchange.target))
    line.bytes(PROTOCOL)
    line.plain(exchange.protocol)
    line.bytes(CLIENT)
    line.plain(client)
    line.bytes(STATUS)
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
    if (outcome.failure !== undefined) {
      line.bytes(ERROR)
      line.json(outcome.failure)
      line.bytes(QUOTE)
    }
    line.bytes(END)
    ended()
  }
}

export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return target.slice(0, Math.min(end < 0 ? target.length : end, PATH_CHARACTERS_MAX))
}

/** Up to the request's id; only the milliseconds change within a second. */
function createBeginnings() {
  let lastSecond = Number.NaN
  let bytes = Buffer.alloc(0)
  let millisecondsAt = 0
  return (nowMs: number): Buffer => {
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
