import { pino } from 'pino'
import { LineBytes } from './lib/line-bytes.ts'

export type Log = pino.Logger

const GATHERED_BYTES = 32 * 1024
const WRITTEN_BYTES_MAX = 2 * GATHERED_BYTES
const KEPT_BYTES_MAX = 8 * 1024 * 1024
const FLUSH_MS = 1_000

/**
 * One JSON line an event on standard output; `name` says which process wrote it.
 * Values under the paths below never appear, wherever an object that holds them is logged.
 */
export function createLog(name: string, level = 'info'): Log {
  return pino({
    name,
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['token', '*.token', 'authorization', '*.authorization', 'cookie', '*.cookie', 'keyPem', '*.keyPem', 'secret', '*.secret'],
      censor: '[hidden]',
    },
  })
}

/** Where lines are put together. */
export type LineSink = {
  readonly line: LineBytes
  /** The line is whole, with its line end. */
  ended(): void
}

/**
 * Standard output for lines by the thousand: they leave together, a second late at most. Lines that nobody takes are dropped beyond some
 * megabytes. `flush` before the process ends.
 */
export function createLineSink(): LineSink & { flush(): Promise<void> } {
  const destination = pino.destination({ dest: 1, sync: false, maxWrite: WRITTEN_BYTES_MAX, maxLength: KEPT_BYTES_MAX })
  destination.on('error', () => {}) // nobody reads any more
  const line = new LineBytes(WRITTEN_BYTES_MAX)
  const handOver = () => {
    if (line.length > 0) destination.write(line.take())
  }
  setInterval(handOver, FLUSH_MS).unref()
  return {
    line,
    ended() {
      if (line.length >= GATHERED_BYTES) handOver()
    },
    flush() {
      handOver()
      return new Promise((resolve) => destination.flush(() => resolve()))
    },
  }
}
