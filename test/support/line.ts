import { Duplex } from 'node:stream'

export type Line = ReturnType<typeof createLine>

/**
 * A socket in memory. What is written to it the system takes at once or, from `hold` on, when `release` says so; from then on its memory may be used
 * again. `onWrite` sees a copy as soon as it is written, `onTaken` one of what it is when it is taken: nothing of a socket that was destroyed before.
 */
export function createLine(on: { onWrite?(chunk: Buffer): void; onTaken?(chunk: Buffer): void }) {
  let held: (() => void)[] | undefined
  const socket = new Duplex({
    allowHalfOpen: false,
    read() {},
    write(chunk: Buffer, _encoding, done) {
      on.onWrite?.(Buffer.from(chunk))
      const taken = () => {
        if (!socket.destroyed) on.onTaken?.(Buffer.from(chunk))
        done()
      }
      if (held) held.push(taken)
      else setImmediate(taken)
    },
  })
  return {
    socket: Object.assign(socket, { destroySoon: () => void socket.end(() => socket.destroy()) }),
    /** Nothing more will be written to it. */
    isOver: () => socket.destroyed || socket.writableEnded,
    hold(): void {
      held ??= []
    },
    release(): void {
      for (const taken of held ?? []) taken() // and what is written meanwhile
      held = undefined
    },
  }
}
