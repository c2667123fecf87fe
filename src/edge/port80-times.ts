import type { Socket } from 'node:net'
import type { Timeouts } from './timeouts.ts'

/** Bun's node:http watches over the times of the connections that it accepted itself, and of none that it is handed. */
const KEEPS_TIME = process.versions.bun === undefined

/**
 * Keeps the times of port 80's connections where node:http does not: for a first request `requestHeadMs`, for each further one `keepAliveMs` from the
 * answer before it, and for an answer both together. `late` is told whose time is over, and whether anything was ever asked there.
 */
export function createPlainTimes(
  { requestHeadMs, keepAliveMs }: Pick<Timeouts, 'requestHeadMs' | 'keepAliveMs'>,
  late: (socket: Socket, hasAsked: boolean) => void,
) {
  const timers = new WeakMap<Socket, NodeJS.Timeout>()

  const allow = (socket: Socket, ms: number, hasAsked: boolean) => {
    clearTimeout(timers.get(socket))
    if (!socket.destroyed) timers.set(socket, setTimeout(late, ms, socket, hasAsked))
  }

  return {
    opened(socket: Socket) {
      if (KEEPS_TIME) return
      allow(socket, requestHeadMs, false)
      socket.once('close', () => clearTimeout(timers.get(socket)))
    },
    asked(socket: Socket) {
      if (!KEEPS_TIME) allow(socket, requestHeadMs + keepAliveMs, true)
    },
    answered(socket: Socket) {
      if (!KEEPS_TIME) allow(socket, keepAliveMs, true)
    },
  }
}
