import { pino } from 'pino'
import { LineBytes } from './lib/line-bytes.ts'

export type Log = pino.Logger

/** A write costs a thread a wake-up, whatever its size. */
const GATHERED_BYTES = 128 * 1024
const WRITTEN_BYTES_MAX = 2 * GATHERED_BYTES
const LINE_BYTES_EXPECTED_MAX = 16 * 1024
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
  const destination = pino.destination({
    dest: 1,
    sync: false,
    contentMode: 'buffer',
    maxWrite: WRITTEN_BYTES_MAX,
    maxLength: KEPT_BYTES_MAX,
  })
  destination.on('error', () => {}) // nobody reads any more
  const writeLines = destination.write.bind(destination) as unknown as (lines: Buffer) => boolean // declared for strings alone
  const line = new LineBytes(GATHERED_BYTES + LINE_BYTES_EXPECTED_MAX)
  const handOver = () => {
    if (line.length > 0) writeLines(line.take())
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
