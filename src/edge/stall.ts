import type { Socket } from 'node:net'

/** For how long no byte has moved on connections that are held back, as far as somebody looks. */
export class Stall {
  #moved = -1
  #sinceMs = 0

  /** Milliseconds since a byte came, or left, on any of them. */
  lastsMs(nowMs: number, ...sockets: readonly Socket[]): number {
    let moved = 0
    for (const { bytesRead, bytesWritten, writableLength } of sockets) moved += bytesRead + bytesWritten - writableLength
    if (moved !== this.#moved) this.#sinceMs = nowMs
    this.#moved = moved
    return nowMs - this.#sinceMs
  }

  /** They are not held back now. */
  over(): void {
    this.#moved = -1
  }
}
