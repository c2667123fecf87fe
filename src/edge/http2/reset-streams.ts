import type { ReceiveWindow } from './windows.ts'

const REMEMBERED_MAX = 256

/** `window`: how much the visitor may still have on its way. `tellAtMs`: when it is to be told, `undefined` once it has been. */
type Ended = { window: ReceiveWindow; tellAtMs: number | undefined }

/** What is to be said of bytes that came late. `refused`: they are more than could have been on their way, or of another stream. */
type Late = { kind: 'refused' | 'nothing' | 'end' } | { kind: 'window'; opened: number }

const NOTHING: Late = { kind: 'nothing' }

/**
 * Streams that we have ended before the visitor had, so that what it sent before it knew is no offence: bytes up to the window that the
 * stream still had, and trailers. Until the visitor is told, its window is opened again for what nobody wants any more.
 */
export class ResetStreams {
  readonly #streams = new Map<number, Ended>()

  add(streamId: number, window: ReceiveWindow, tellAtMs?: number): void {
    this.#streams.set(streamId, { window, tellAtMs })
    if (this.#streams.size > REMEMBERED_MAX) this.#streams.delete(this.#streams.keys().next().value!)
  }

  /** Whether visitors have yet to hear that the rest of a request is not wanted. */
  get areUntold(): boolean {
    for (const { tellAtMs } of this.#streams.values()) if (tellAtMs !== undefined) return true
    return false
  }

  has(streamId: number): boolean {
    return this.#streams.has(streamId)
  }

  /** `endsStream`: the visitor has ended it too. curl waits even then for a word of ours, if it was not told before. */
  receive(streamId: number, bytes: number, endsStream: boolean): Late {
    const stream = this.#streams.get(streamId)
    if (!stream?.window.receive(bytes)) return { kind: 'refused' }
    if (endsStream) this.#streams.delete(streamId)
    if (stream.tellAtMs === undefined) return NOTHING
    if (endsStream) return { kind: 'end' }
    const opened = stream.window.take(bytes)
    return opened > 0 ? { kind: 'window', opened } : NOTHING
  }

  delete(streamId: number): void {
    this.#streams.delete(streamId)
  }

  /** Those that the visitor is to be told of now. */
  due(nowMs: number): number[] {
    const ids: number[] = []
    for (const [id, stream] of this.#streams) {
      if (stream.tellAtMs === undefined || nowMs < stream.tellAtMs) continue
      stream.tellAtMs = undefined
      ids.push(id)
    }
    return ids
  }
}
