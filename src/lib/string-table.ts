import { halfSipHash, randomHashKey } from './half-sip-hash.ts'

const SHARDS = 256 // each grows by itself: all at once, a million strings would stop the event loop for 60 ms
// Strings do not come evenly to the shards. Each has room for a quarter more than its share, or for eight standard deviations of it where that is more.
const SHARD_EXCESS = 0.25
const SHARD_DEVIATIONS = 8
const SHARD_ROOM_MIN = 4 // the tail of a Poisson distribution whose mean is far below one
const SLOTS_MIN = 8
const FILL_MAX = 0.8
const GROWTH = 1.25
// A slot is eight words: a tag of the key (0: the slot is free), the value, and the key's characters; behind the first 20 of a longer one the
// place of the others. So a look-up among many reads memory that no cache holds once, not twice.
const WORDS = 8
const VALUE = 1
const PLACE = 7
const KEY_BYTE = 8
const INLINE_MAX = 24
const INLINE_OF_LONGER = 20
const LENGTH_BITS = 8
const LENGTH_MASK = (1 << LENGTH_BITS) - 1
const LENGTH_MAX = LENGTH_MASK - 1
const HASH_STEPS = 2 ** (32 - LENGTH_BITS)
const NOTHING = Buffer.alloc(0)

/**
 * A number for each of many short ASCII strings, as hostnames. They lie in typed arrays, which no collection of garbage walks over: some 45 bytes each,
 * and what is longer than 24 characters, where a Map takes 120 and more. What would not fit has a 256th of them forgotten.
 */
export class StringTable {
  readonly #hashKey = randomHashKey() // who chooses the strings shall not choose their slots
  readonly #shardMax: number
  #shards = emptyShards()
  #bytes = sumOf(this.#shards)

  /** `max`: so many strings at least (but for one table in many millions), and where they are 300,000 and more, a quarter more at most. */
  constructor(max: number) {
    const share = max / SHARDS
    this.#shardMax = Math.ceil(share + Math.max(share * SHARD_EXCESS, Math.sqrt(share) * SHARD_DEVIATIONS + SHARD_ROOM_MIN))
  }

  get size(): number {
    return this.#shards.reduce((sum, { size }) => sum + size, 0)
  }

  /** What it takes in memory. Counted as it grows: whoever asks often would else read all shards each time, which no cache holds. */
  get bytes(): number {
    return this.#bytes
  }

  /** 0 where there is none. */
  get(key: string): number {
    const hash = halfSipHash(key, this.#hashKey)
    return this.#shards[hash % SHARDS]!.get(key, tagOf(key, hash))
  }

  /** `value`: a whole number from 1 to 2³² − 1. A key of more than 254 characters is passed over. */
  set(key: string, value: number): void {
    if (key.length > LENGTH_MAX) return
    const hash = halfSipHash(key, this.#hashKey)
    const at = hash % SHARDS
    let shard = this.#shards[at]!
    if (shard.replace(key, tagOf(key, hash), value)) return
    this.#bytes -= shard.bytes
    if (shard.size >= this.#shardMax) {
      shard = new Shard()
      this.#shards[at] = shard
    }
    shard.add(key, tagOf(key, hash), value)
    this.#bytes += shard.bytes
  }

  delete(key: string): void {
    const hash = halfSipHash(key, this.#hashKey)
    this.#shards[hash % SHARDS]!.replace(key, tagOf(key, hash), 0)
  }

  clear(): void {
    this.#shards = emptyShards()
    this.#bytes = sumOf(this.#shards)
  }
}

function emptyShards(): Shard[] {
  return Array.from({ length: SHARDS }, () => new Shard())
}

function sumOf(shards: readonly Shard[]): number {
  return shards.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** The upper bits of the key's hash, of which those below chose the shard, and in their place its length plus one; 0 for one that no slot holds. */
function tagOf(key: string, hash: number): number {
  return ((hash & ~LENGTH_MASK) | (key.length > LENGTH_MAX ? 0 : key.length + 1)) >>> 0
}

/** Open addressing, linear probing. A key that was deleted keeps its slot, with the value 0, until the shard grows. */
class Shard {
  size = 0
  #slots = SLOTS_MIN
  #words = new Uint32Array(WORDS * SLOTS_MIN)
  #slotBytes = new Uint8Array(this.#words.buffer)
  #slotsTaken = 0
  /** What longer keys have behind their first characters. */
  #rest = NOTHING
  #restTaken = 0

  get bytes(): number {
    return this.#words.byteLength + this.#rest.length
  }

  get(key: string, tag: number): number {
    return this.#words[this.#slotOf(key, tag) + VALUE]!
  }

  /** False where the key has no slot. */
  replace(key: string, tag: number, value: number): boolean {
    const slot = this.#slotOf(key, tag)
    if (this.#words[slot] === 0) return false
    this.size += Number(value !== 0) - Number(this.#words[slot + VALUE] !== 0)
    this.#words[slot + VALUE] = value
    return true
  }

  /** Of a key that has no slot yet. */
  add(key: string, tag: number, value: number): void {
    if (this.#slotsTaken >= this.#slots * FILL_MAX) this.#grow()
    const slot = this.#slotOf(key, tag)
    this.#words[slot] = tag
    this.#words[slot + VALUE] = value
    const inline = inlineLength(key)
    for (let i = 0; i < inline; i += 1) this.#slotBytes[slot * 4 + KEY_BYTE + i] = key.charCodeAt(i)
    if (inline < key.length) this.#words[slot + PLACE] = this.#addRest(key.slice(inline))
    this.#slotsTaken += 1
    this.size += 1
  }

  /** Where the key's slot begins, or else the free one that it would take. */
  #slotOf(key: string, tag: number): number {
    const words = this.#words
    for (let at = this.#firstSlotOf(tag); ; at = this.#slotBehind(at)) {
      const word = words[at]!
      if (word === 0 || (word === tag && this.#isAt(at, key))) return at
    }
  }

  #isAt(slot: number, key: string): boolean {
    const bytes = this.#slotBytes
    const at = slot * 4 + KEY_BYTE
    const inline = inlineLength(key)
    for (let i = 0; i < inline; i += 1) if (bytes[at + i] !== key.charCodeAt(i)) return false
    return inline === key.length || this.#isRest(this.#words[slot + PLACE]!, key)
  }

  #isRest(place: number, key: string): boolean {
    for (let i = INLINE_OF_LONGER; i < key.length; i += 1) if (this.#rest[place + i - INLINE_OF_LONGER] !== key.charCodeAt(i)) return false
    return true
  }

  #addRest(rest: string): number {
    const place = this.#restTaken
    const end = place + rest.length
    if (end > this.#rest.length) {
      const before = this.#rest
      this.#rest = Buffer.alloc(Math.ceil(end * GROWTH))
      before.copy(this.#rest)
    }
    this.#rest.write(rest, place, 'latin1')
    this.#restTaken = end
    return place
  }

  /** Makes room for more; what was deleted goes. */
  #grow(): void {
    const words = this.#words
    const rest = this.#rest
    this.#slots = Math.max(SLOTS_MIN, Math.ceil((this.size * GROWTH) / FILL_MAX))
    this.#words = new Uint32Array(WORDS * this.#slots)
    this.#slotBytes = new Uint8Array(this.#words.buffer)
    this.#rest = NOTHING
    this.#restTaken = 0
    this.#slotsTaken = this.size
    for (let at = 0; at < words.length; at += WORDS) if (words[at + VALUE] !== 0) this.#move(words.subarray(at, at + WORDS), rest)
  }

  #move(slot: Uint32Array, rest: Buffer): void {
    let to = this.#firstSlotOf(slot[0]!)
    while (this.#words[to] !== 0) to = this.#slotBehind(to)
    this.#words.set(slot, to)
    const behind = (slot[0]! & LENGTH_MASK) - 1 - INLINE_OF_LONGER
    if (behind > INLINE_MAX - INLINE_OF_LONGER) {
      const place = slot[PLACE]!
      this.#words[to + PLACE] = this.#addRest(rest.toString('latin1', place, place + behind))
    }
  }

  #firstSlotOf(tag: number): number {
    return Math.floor(((tag >>> LENGTH_BITS) * this.#slots) / HASH_STEPS) * WORDS
  }

  #slotBehind(slot: number): number {
    return slot + WORDS === this.#words.length ? 0 : slot + WORDS
  }
}

function inlineLength(key: string): number {
  return key.length > INLINE_MAX ? INLINE_OF_LONGER : key.length
}
