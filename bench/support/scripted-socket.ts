import { EventEmitter } from 'node:events'

const WRITTEN_BYTES_MAX = 256 * 1024
const written = Buffer.alloc(WRITTEN_BYTES_MAX)

/**
 * What an engine takes for a socket: bytes come when the measurement says so, and what is written is copied once, as TLS or the kernel would,
 * and forgotten. So what a request costs between two of them is JavaScript of ours and nothing else.
 */
export class ScriptedSocket extends EventEmitter {
  readonly alpnProtocol: string | undefined
  readonly #onWrite: (() => void) | undefined
  destroyed = false
  writable = true
  writableNeedDrain = false
  writableLength = 0
  readableEnded = false
  bytesWritten = 0

  constructor({ alpnProtocol, onWrite }: { alpnProtocol?: string; onWrite?: () => void } = {}) {
    super()
    this.alpnProtocol = alpnProtocol
    this.#onWrite = onWrite
  }

  write(data: string | Buffer, ...others: unknown[]): boolean {
    if (typeof data === 'string') written.write(data, 'latin1')
    else data.copy(written)
    const sent = others.at(-1)
    if (typeof sent === 'function') setImmediate(sent as () => void)
    this.#onWrite?.()
    return true
  }

  destroy(): this {
    this.destroyed = true
    return this
  }

  cork(): void {}
  uncork(): void {}
  end(): void {}

  pause(): this {
    return this
  }

  resume(): this {
    return this
  }
}
