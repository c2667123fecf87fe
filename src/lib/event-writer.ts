import { writeSync } from 'node:fs'
import { DescriptorWriter, isDiskTrouble, isPipe } from './descriptor-writer.ts'

const TRY_AGAIN_MS = 100
/** Of lines that could not be written, and are written when they can be. */
const UNWRITTEN_BYTES_MAX = 1024 * 1024
const LINE_END = Buffer.from('\n')

/**
 * Writes lines to a descriptor: to a file or a terminal at once, to a pipe or a socket by a thread, since a full one would be waited for, with all
 * visitors. Those that find a full disk are written with the next ones, or a little later: whole, and behind a line end, since a line may be torn there,
 * ours or that of another process.
 */
export class EventWriter {
  readonly #descriptor: number
  readonly #byThread: DescriptorWriter | undefined
  readonly #lines: Buffer[] = []
  #bytes = 0
  /** Of the first line, how much is out. */
  #written = 0
  #again: NodeJS.Timeout | undefined

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.#byThread = isPipe(descriptor) ? new DescriptorWriter(descriptor, UNWRITTEN_BYTES_MAX) : undefined
  }

  write(text: string): void {
    const line = Buffer.from(text)
    if (this.#byThread) return void this.#byThread.write(line)
    if (this.#bytes + line.length > UNWRITTEN_BYTES_MAX) return
    this.#lines.push(line)
    this.#bytes += line.length
    this.#writeOut()
  }

  #writeOut(): void {
    try {
      for (let line = this.#lines[0]; line; line = this.#lines[0]) {
        while (this.#written < line.length) this.#written += writeSync(this.#descriptor, line, this.#written)
        this.#bytes -= line.length
        this.#lines.shift()
        this.#written = 0
      }
    } catch (error) {
      this.#failed(error as NodeJS.ErrnoException)
    }
  }

  /** A reader that is gone is no reason to end, nor a full disk. */
  #failed(error: NodeJS.ErrnoException): void {
    const isOnDisk = isDiskTrouble(error)
    if (isOnDisk) {
      const first = this.#lines[0]!
      if (first[0] !== LINE_END[0]) {
        this.#lines[0] = Buffer.concat([LINE_END, first])
        this.#bytes += 1
      }
      this.#written = 0
    }
    if (isOnDisk || error.code === 'EAGAIN') {
      clearTimeout(this.#again)
      this.#again = setTimeout(() => this.#writeOut(), TRY_AGAIN_MS).unref()
    }
  }
}
