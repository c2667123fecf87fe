import type { FieldSection } from '../field-section.ts'

const SLOTS = 256
const BLOCK_BYTES_MAX = 2_048
const SAMPLES = 8

type Lines = Pick<FieldSection, 'bytes' | 'runs'>

/** What was last made of field lines, one for each slot: answers of an application repeat themselves, often to the letter. */
export class RememberedBlocks {
  readonly #lines: (Buffer | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #blocks: (Uint8Array | undefined)[] = new Array(SLOTS).fill(undefined)

  get({ bytes, runs }: Lines): Uint8Array | undefined {
    const slot = slotOf(bytes, runs)
    const lines = this.#lines[slot]
    return lines && areIn(lines, bytes, runs) ? this.#blocks[slot] : undefined
  }

  set({ bytes, runs }: Lines, block: Uint8Array): void {
    if (block.length > BLOCK_BYTES_MAX) return
    const slot = slotOf(bytes, runs)
    this.#lines[slot] = joined(bytes, runs)
    this.#blocks[slot] = block
  }
}

/** From the length and a few bytes of the last run: those of another second's Date are none of them as a rule, so it takes the place of the last one. */
function slotOf(bytes: Buffer, runs: readonly number[]): number {
  if (runs.length === 0) return 0
  const from = runs[runs.length - 2]!
  const end = runs[runs.length - 1]!
  let mixed = lengthOf(runs)
  for (let i = 1; i <= SAMPLES && end - i * 5 >= from; i += 1) mixed = (mixed * 31 + bytes[end - i * 5]!) | 0
  return (mixed ^ (mixed >>> 8)) & (SLOTS - 1)
}

function areIn(lines: Buffer, bytes: Buffer, runs: readonly number[]): boolean {
  if (lines.length !== lengthOf(runs)) return false
  let at = 0
  for (let i = 0; i < runs.length; i += 2) {
    const end = at + runs[i + 1]! - runs[i]!
    if (lines.compare(bytes, runs[i]!, runs[i + 1]!, at, end) !== 0) return false
    at = end
  }
  return true
}

function joined(bytes: Buffer, runs: readonly number[]): Buffer {
  const lines = Buffer.allocUnsafeSlow(lengthOf(runs))
  let at = 0
  for (let i = 0; i < runs.length; i += 2) at += bytes.copy(lines, at, runs[i]!, runs[i + 1]!)
  return lines
}

function lengthOf(runs: readonly number[]): number {
  let length = 0
  for (let i = 0; i < runs.length; i += 2) length += runs[i + 1]! - runs[i]!
  return length
}
