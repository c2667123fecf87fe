import { Shares } from '../lib/shares.ts'

/** Of the process: a connection of HTTP/2 can have 256 uploads to applications that are slow to answer, and one client a thousand connections. */
const BYTES_MAX = 64 * 1024 * 1024

/**
 * Counts what is kept of requests' bodies in case that an upstream has not looked at them. A project may have more of it while it has less than is free:
 * what slow uploads to one take of it is not what another one lacks. Whoever finds no room is sent once.
 */
export class Repeatable {
  readonly #kept = new Shares()

  /** False: there is no room. */
  keep(owner: string, bytes: number): boolean {
    return this.#kept.countOf(owner) + bytes <= BYTES_MAX - this.#kept.count && this.#kept.enter(owner, bytes)
  }

  letGo(owner: string, bytes: number): void {
    if (bytes > 0) this.#kept.leave(owner, bytes)
  }
}
