import type { Http2Exchange } from './exchange.ts'
import type { FrameWriter } from './frame-writer.ts'
import type { SendWindow } from './windows.ts'

/** With more than this kept of answers that the visitor does not take, its further requests wait. */
const KEPT_BYTES_HIGH = 4 * 1024 * 1024

/** The answers of one connection that have something to send and no room for it, each in its turn. */
export class WaitingAnswers {
  readonly #exchanges = new Set<Http2Exchange>()
  readonly #window: SendWindow
  readonly #writer: FrameWriter
  #keptBytes = 0

  constructor(window: SendWindow, writer: FrameWriter) {
    this.#window = window
    this.#writer = writer
  }

  /** Whether so much lies here that nothing should be added. */
  get areTooMany(): boolean {
    return this.#keptBytes >= KEPT_BYTES_HIGH || this.#writer.isBusy
  }

  add(exchange: Http2Exchange): void {
    this.#exchanges.add(exchange)
  }

  delete(exchange: Http2Exchange): void {
    this.#exchanges.delete(exchange)
  }

  /** So many bytes more are kept; negative: fewer. */
  kept(bytes: number): void {
    this.#keptBytes += bytes
  }

  /** There is room again in the connection's window or on the way out. */
  goOn(): void {
    for (const exchange of [...this.#exchanges]) {
      if (this.#window.available <= 0 || this.#writer.isBusy) return
      this.goOnWith(exchange)
    }
  }

  /** There is room again in this one's window. */
  goOnWith(exchange: Http2Exchange): void {
    if (!this.#exchanges.delete(exchange)) return
    if (!exchange.goOn()) this.#exchanges.add(exchange) // at the end of the line
  }
}
