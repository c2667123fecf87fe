import { Duplex } from 'node:stream'

/**
 * A socket in memory. What is written to it the system takes at once or, from `hold` on, when `release` says so; from then on its memory may be used
 * again. `onWrite` sees a copy as soon as it is written, `onTaken` one of what it is when it is taken.
 */
export function createLine(on: { onWrite?(chunk: Buffer): void; onTaken?(chunk: Buffer): void }) {
  let held: (() => void)[] | undefined
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      on.onWrite?.(Buffer.from(chunk))
      const taken = () => {
        on.onTaken?.(Buffer.from(chunk))
        done()
      }
      if (held) held.push(taken)
      else setImmediate(taken)
    },
  })
  return {
    socket,
    hold(): void {
      held ??= []
    },
    release(): void {
      for (const taken of held ?? []) taken() // and what is written meanwhile
      held = undefined
    },
  }
}
