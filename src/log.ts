import { pino } from 'pino'

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

/** Takes whole lines, each with its line end. */
export type LineSink = { write(line: string): void }

/**
 * Standard output for lines by the thousand: they leave together, a second late at most. Lines that nobody takes are dropped beyond some
 * megabytes. `flush` before the process ends.
 */
export function createLineSink(): LineSink & { flush(): Promise<void> } {
  const destination = pino.destination({ dest: 1, sync: false, maxWrite: WRITTEN_BYTES_MAX, maxLength: KEPT_BYTES_MAX })
  destination.on('error', () => {}) // nobody reads any more
  let gathered = ''
  const handOver = () => {
    if (gathered !== '') destination.write(gathered)
    gathered = ''
  }
  setInterval(handOver, FLUSH_MS).unref()
  return {
    write(line) {
      gathered += line
      if (gathered.length >= GATHERED_BYTES) handOver()
    },
    flush() {
      handOver()
      return new Promise((resolve) => destination.flush(() => resolve()))
    },
  }
}
