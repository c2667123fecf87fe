const SLOTS = 256
const BLOCK_BYTES_MAX = 2_048
const SAMPLES = 8

/** What was last made of field lines, one for each slot: answers of an application repeat themselves, often to the letter. */
export class RememberedBlocks {
  readonly #lines: (string | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #blocks: (Uint8Array | undefined)[] = new Array(SLOTS).fill(undefined)

  get(lines: string): Uint8Array | undefined {
    const slot = slotOf(lines)
    return this.#lines[slot] === lines ? this.#blocks[slot] : undefined
  }

  set(lines: string, block: Uint8Array): void {
    if (block.length > BLOCK_BYTES_MAX) return
    const slot = slotOf(lines)
    this.#lines[slot] = lines
    this.#blocks[slot] = block
  }
}

/** From the length and a few characters: those of another second's Date are none of them as a rule, so it takes the place of the last one. */
function slotOf(lines: string): number {
  const { length } = lines
  let mixed = length
  for (let i = 1; i <= SAMPLES; i += 1) mixed = (mixed * 31 + (lines.charCodeAt(length - i * 5) | 0)) | 0
  return (mixed ^ (mixed >>> 8)) & (SLOTS - 1)
}
