import { fstatSync, write } from 'node:fs'

const TRY_AGAIN_MS = 100
const LINE_END = Buffer.from('\n')
const EMPTY = Buffer.alloc(0)
const DISK_TROUBLE = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO'])

/** Whether a file took nothing more: then a line may be torn, ours or that of another process, and whatever is written next begins with a line end. */
export function isDiskTrouble({ code }: NodeJS.ErrnoException): boolean {
  return DISK_TROUBLE.has(code ?? '')
}

/** Who has no room for what is written, and when, is another process's affair. Whether a write waits is, too: `O_NONBLOCK` belongs to all who share the pipe. */
export function isPipe(descriptor: number): boolean {
  const kind = fstatSync(descriptor)
  return kind.isFIFO() || kind.isSocket()
}

const busy = new Set<Promise<void>>()
let writing = 0

/** Resolves once nothing waits, in any writer of this process. */
export async function allWritten(): Promise<void> {
  while (busy.size > 0) await Promise.all(busy)
}

/** Whether a thread writes: of a pipe that nobody reads it waits for ever, and node's end would wait for it. */
export function isWriting(): boolean {
  return writing > 0
}

/**
 * Writes pieces of whole lines to a descriptor one after the other, without anybody waiting. What finds no room in `bytesMax` is dropped, and so is what
 * cannot be written: a full disk or a reader that is gone ends no process that has visitors. Behind a full disk a new line begins, as soon as there is
 * room: the next line may be that of a process that has seen nothing of it.
 */
export class DescriptorWriter {
  readonly #descriptor: number
  readonly #bytesMax: number
  readonly #waiting: Buffer[] = []
  #bytes = 0
  #beginsLine = false
  #again: NodeJS.Timeout | undefined
  #writing: PromiseWithResolvers<void> | undefined

  constructor(descriptor: number, bytesMax: number) {
    this.#descriptor = descriptor
    this.#bytesMax = bytesMax
  }

  write(piece: Buffer): void {
    if (this.#bytes + piece.length > this.#bytesMax) return
    this.#waiting.push(piece)
    this.#bytes += piece.length
    if (this.#writing) return
    this.#writing = Promise.withResolvers()
    busy.add(this.#writing.promise)
    this.#next()
  }

  /** Resolves once nothing waits. */
  async written(): Promise<void> {
    await this.#writing?.promise
  }

  #next(): void {
    const piece = this.#waiting.shift()
    if (piece) {
      this.#bytes += this.#beginsLine ? 1 : 0
      this.#put(this.#beginsLine ? Buffer.concat([LINE_END, piece]) : piece, 0)
      return
    }
    if (!this.#writing) return
    this.#writing.resolve()
    busy.delete(this.#writing.promise)
    this.#writing = undefined
  }

  #beginLine(): void {
    this.#beginsLine = true
    this.#again ??= setTimeout(() => {
      this.#again = undefined
      if (this.#beginsLine) this.write(EMPTY)
    }, TRY_AGAIN_MS).unref()
  }

  #put(piece: Buffer, from: number): void {
    writing += 1
    write(this.#descriptor, piece, from, piece.length - from, null, (error, bytes) => {
      writing -= 1
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#put(piece, from), TRY_AGAIN_MS)
      } else if (!error && from + bytes < piece.length) {
        this.#put(piece, from + bytes)
      } else {
        if (!error) this.#beginsLine = false
        else if (isDiskTrouble(error)) this.#beginLine()
        this.#bytes -= piece.length
        this.#next()
      }
    })
  }
}
