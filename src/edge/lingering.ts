import type { Socket } from 'node:net'
import { Members } from '../lib/members.ts'
import { Stall } from './stall.ts'

/** Without a byte in either direction, once all has left. */
const SILENT_MS_MAX = 5_000

/**
 * Connections that get no more than the rest and their end. Each is read on, for nobody, until the other side has ended too: the system drops what that one has not
 * taken yet when something comes to a socket that is closed (RFC 9112 §9.6). To be looked at about every second.
 */
export class Lingering {
  readonly #members = new Members<{ socket: Socket; stall: Stall; untilMs: number }>()

  /** The other side has `withinMs` in all, and less when it is silent. */
  add(socket: Socket, withinMs: number): void {
    if (socket.destroyed) return
    const place = this.#members.add({ socket, stall: new Stall(), untilMs: performance.now() + withinMs })
    socket.once('close', () => this.#members.delete(place))
    socket.end()
    socket.resume()
  }

  look(nowMs: number): void {
    for (const { socket, stall, untilMs } of this.#members.all()) {
      const isSilent = socket.writableFinished && stall.lastsMs(nowMs, socket) >= SILENT_MS_MAX
      if (isSilent || nowMs >= untilMs) socket.destroy()
    }
  }

  destroy(): void {
    for (const { socket } of this.#members.all()) socket.destroy()
  }
}
