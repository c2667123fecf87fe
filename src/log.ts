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
    ...settingsOf(name, level),
    redact: {
      paths: ['token', '*.token', 'authorization', '*.authorization', 'cookie', '*.cookie', 'keyPem', '*.keyPem', 'secret', '*.secret'],
      censor: '[hidden]',
    },
  })
}

/**
 * As createLog, for lines by the thousand that hold nothing to hide: they leave together, a second late at most. Lines that nobody takes are
 * dropped beyond some megabytes. `flush` before the process ends.
 */
export function createLineLog(name: string, level = 'info'): { log: Log; flush(): Promise<void> } {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: GATHERED_BYTES,
    maxWrite: WRITTEN_BYTES_MAX,
    maxLength: KEPT_BYTES_MAX,
    periodicFlush: FLUSH_MS,
  })
  destination.on('error', () => {}) // nobody reads any more
  const log = pino(settingsOf(name, level), destination)
  return { log, flush: () => new Promise((resolve) => destination.flush(() => resolve())) }
}

function settingsOf(name: string, level: string) {
  return {
    name,
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
}
