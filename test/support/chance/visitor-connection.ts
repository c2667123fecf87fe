import type { Random } from '../../fuzz/random.ts'
import { createLine, type Line } from '../line.ts'
import type { Asked, Protocol } from './asked.ts'

/** One connection of a visitor, who asks, reads and goes when somebody says so. What it finds wrong is told to `fault`. */
export interface VisitorConnection {
  readonly line: Line
  readonly protocol: Protocol
  /** It takes another request. */
  readonly hasRoom: boolean
  /** The edge has said that it ends the connection, or has to. */
  readonly isToEnd: boolean
  ask(asked: Asked): void
  /** Sends so many more bytes of its requests. False: all have been sent, or it may not send any now. */
  sendOn(bytes: number): boolean
  /** Opens a window, where it has some. */
  open(random: Random): void
  /** Has room for all from now on. */
  openWide(): void
  /** Gives up something that it asked for, or all. */
  leave(random: Random): void
}

export type VisitorParts = { random: Random; fault(what: string | undefined): void }

export function createVisitorLine(on: { taken(chunk: Buffer): void; closed(): void }): Line {
  const line = createLine({ onTaken: on.taken, endsToo: true })
  line.socket.once('close', on.closed)
  return line
}
