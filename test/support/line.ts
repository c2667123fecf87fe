import { Duplex } from 'node:stream'

export type Line = ReturnType<typeof createLine>

/**
 * A socket in memory. What is written to it the system takes at once or, from `hold` on, when `release` says so; from then on its memory may be used
 * again. `onWrite` sees a copy as soon as it is written, `onTaken` one of what it is when it is taken: nothing of a socket that was destroyed before.
 * `endsToo`: the other end has nothing more to say once it has read our end.
 */
export function createLine(on: { onWrite?(chunk: Buffer): void; onTaken?(chunk: Buffer): void; endsToo?: true }) {
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
  if (on.endsToo) socket.once('finish', () => socket.push(null))
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

/** Until what was sent in memory has been read, served and answered as far as it goes without waiting. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await new Promise((resolve) => setImmediate(resolve))
}
