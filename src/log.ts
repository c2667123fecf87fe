import { pino } from 'pino'

export type Log = pino.Logger

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
