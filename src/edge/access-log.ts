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
  totalMs: number
  error: string | undefined
}

const PATH_CHARACTERS_MAX = 1_024

/** One JSON line a request, like the other lines of the log, for the given share of them (0 to 1). */
export function createAccessLog(sink: LineSink, sample: number) {
  const { pid } = process
  return (read: () => AccessLine) => {
    if (sample < 1 && Math.random() >= sample) return
    const line = read()
    const common = { level: 'info', time: new Date().toISOString(), pid, name: 'edge' }
    const times = { upstreamMs: rounded(line.upstreamMs), totalMs: rounded(line.totalMs) }
    sink.write(`${JSON.stringify({ ...common, ...line, ...times, msg: 'request' })}\n`)
  }
}

export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return target.slice(0, Math.min(end < 0 ? target.length : end, PATH_CHARACTERS_MAX))
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10
}
