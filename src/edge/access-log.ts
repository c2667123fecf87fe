import type { LineSink } from '../log.ts'

export type AccessLine = {
  requestId: string
  hostname: string
  project: string | undefined
  method: string
  /** Without its query, which often holds what nobody should read. */
  path: string
  protocol: string
  client: string
  status: number
  bytes: number
  upstreamMs: number | undefined
  /** Where the request was held for its upstream. */
  heldMs: number | undefined
  totalMs: number
  error: string | undefined
}

const PATH_CHARACTERS_MAX = 1_024
/** What stands in a JSON string as it is. */
const PLAIN = /^[ !#-[\]-~]*$/

/** One JSON line a request, like the other lines of the log, for the given share of them (0 to 1). */
export function createAccessLog(sink: LineSink, sample: number) {
  const timeOf = createClock()
  const { pid } = process
  return (read: () => AccessLine) => {
    if (sample < 1 && Math.random() >= sample) return
    sink.write(`{"level":"info","time":"${timeOf(Date.now())}","pid":${pid},"name":"edge",${membersOf(read())},"msg":"request"}\n`)
  }
}

export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return target.slice(0, Math.min(end < 0 ? target.length : end, PATH_CHARACTERS_MAX))
}

/** JSON.stringify would take five times as long. */
function membersOf(line: AccessLine): string {
  const project = line.project === undefined ? '' : `,"project":${quoted(line.project)}`
  const upstreamMs = line.upstreamMs === undefined ? '' : `,"upstreamMs":${rounded(line.upstreamMs)}`
  const heldMs = line.heldMs === undefined ? '' : `,"heldMs":${rounded(line.heldMs)}`
  const error = line.error === undefined ? '' : `,"error":${quoted(line.error)}`
  const request = `"requestId":${quoted(line.requestId)},"hostname":${quoted(line.hostname)}${project}`
  const head = `"method":${quoted(line.method)},"path":${quoted(line.path)},"protocol":"${line.protocol}","client":${quoted(line.client)}`
  return `${request},${head},"status":${line.status},"bytes":${line.bytes}${upstreamMs}${heldMs},"totalMs":${rounded(line.totalMs)}${error}`
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** Many requests end in one millisecond. */
function createClock() {
  let lastMs = 0
  let text = ''
  return (nowMs: number): string => {
    if (nowMs !== lastMs) {
      lastMs = nowMs
      text = new Date(nowMs).toISOString()
    }
    return text
  }
}
