/** Longer heads are seldom the same again, and would hold memory for an idle connection. */
export const REMEMBERED_BYTES_MAX = 4 * 1024

const STEP_BYTES = 128
/** Up to here a loop is faster than a call. */
const LOOPED_LENGTH_MAX = 24
const NOTHING = Buffer.alloc(0)

/** A copy of bytes that may come again, in memory of its own, since what arrives shares its memory with others. What is kept next is written over it. */
export class KeptBytes {
  /** The copy and what is left of longer ones behind it. */
  memory: Buffer = NOTHING
  length = 0

  keep(bytes: Buffer, from: number, end: number): void {
    this.length = end - from
    if (this.memory.length < this.length) this.memory = Buffer.allocUnsafeSlow(Math.ceil(this.length / STEP_BYTES) * STEP_BYTES)
    bytes.copy(this.memory, 0, from, end)
  }

  /** Whether the copy, or what lies in it from `from` to `end`, stands in `bytes` at `at`, before `limit`. */
  isIn(bytes: Buffer, at: number, limit: number, from = 0, end = this.length): boolean {
    const length = end - from
    if (at + length > limit) return false
    if (length > LOOPED_LENGTH_MAX) return bytes.compare(this.memory, from, end, at, at + length) === 0
    let same = 0
    while (same < length && bytes[at + same] === this.memory[from + same]) same += 1
    return same === length
  }
}
