import { type HashKey, halfSipHash, randomHashKey } from './half-sip-hash.ts'

const SHARDS = 256 // each grows by itself: all at once, a million strings would stop the event loop for 60 ms
// Strings do not come evenly to the shards. Each has room for a quarter more than its share, or for eight standard deviations of it where that is more.
const SHARD_EXCESS = 0.25
const SHARD_DEVIATIONS = 8
const SHARD_ROOM_MIN = 4 // the tail of a Poisson distribution whose mean is far below one
const LENGTH_MAX = 255
const SLOTS_MIN = 8
const FILL_MAX = 0.7
const GROWTH = 1.25
// A slot is two numbers: where the key lies in `bytes` plus one (0: nowhere, the slot is free) below the upper bits of its hash, and the value.
const PLACE_BITS = 21
const PLACE_MASK = (1 << PLACE_BITS) - 1

/**
 * A number for each of many short ASCII strings, as hostnames. They lie in typed arrays, which no collection of garbage walks over: some 24 bytes and
 * the string's own each, where a Map takes 120 and more. A look-up among a million is 0.2 µs. What would not fit has a 256th of them forgotten.
 */
export class StringTable {
  readonly #hashKey = randomHashKey() // who chooses the strings shall not choose their slots
  readonly #shardMax: number
  #shards: Shard[]

  /** `max`: so many strings at least (but for one table in many millions), and where they are 300,000 and more, a quarter more at most. */
  constructor(max: number) {
    const share = max / SHARDS
    this.#shardMax = Math.ceil(share + Math.max(share * SHARD_EXCESS, Math.sqrt(share) * SHARD_DEVIATIONS + SHARD_ROOM_MIN))
    this.#shards = this.#emptyShards()
  }

  get size(): number {
    return this.#shards.reduce((sum, { size }) => sum + size, 0)
  }

  /** What it takes in memory. */
  get bytes(): number {
    return this.#shards.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** 0 where there is none. */
  get(key: string): number {
    const hash = halfSipHash(key, this.#hashKey)
    return this.#shards[hash % SHARDS]!.get(key, hash)
  }

  /** `value`: a whole number from 1 to 2³² − 1. A key of more than 255 characters is passed over. */
  set(key: string, value: number): void {
    if (key.length > LENGTH_MAX) return
    const hash = halfSipHash(key, this.#hashKey)
    const at = hash % SHARDS
    if (this.#shards[at]!.replace(key, hash, value)) return
    if (this.#shards[at]!.size >= this.#shardMax) this.#shards[at] = new Shard(this.#hashKey)
    this.#shards[at]!.add(key, hash, value)
  }

  delete(key: string): void {
    const hash = halfSipHash(key, this.#hashKey)
    this.#shards[hash % SHARDS]!.replace(key, hash, 0)
  }

  clear(): void {
    this.#shards = this.#emptyShards()
  }

  #emptyShards(): Shard[] {
    return Array.from({ length: SHARDS }, () => new Shard(this.#hashKey))
  }
}

/** Open addressing, linear probing. A key that was deleted keeps its slot, with the value 0, until the shard grows. */
class Shard {
  size = 0
  readonly #hashKey: HashKey
  #slots = new Uint32Array(2 * SLOTS_MIN)
  #slotsTaken = 0
  #bytes = Buffer.alloc(0)
  #bytesTaken = 0

  constructor(hashKey: HashKey) {
    this.#hashKey = hashKey
  }

  get bytes(): number {
    return this.#slots.byteLength + this.#bytes.length
  }

  get(key: string, hash: number): number {
    return this.#slots[this.#slotOf(key, hash) + 1]!
  }

  /** False where the key has no slot. */
  replace(key: string, hash: number, value: number): boolean {
    const slot = this.#slotOf(key, hash)
    if (this.#slots[slot] === 0) return false
    this.size += Number(value !== 0) - Number(this.#slots[slot + 1] !== 0)
    this.#slots[slot + 1] = value
    return true
  }

  /** Of a key that has no slot yet. */
  add(key: string, hash: number, value: number): void {
    const isFull = this.#slotsTaken >= (this.#slots.length / 2) * FILL_MAX || this.#bytesTaken + key.length + 1 > this.#bytes.length
    if (isFull) this.#grow(key.length + 1)
    const slot = this.#slotOf(key, hash)
    const place = this.#bytesTaken
    this.#bytes[place] = key.length
    this.#bytes.write(key, place + 1, 'latin1')
    this.#bytesTaken += key.length + 1
    this.#slots[slot] = (((hash >>> PLACE_BITS) << PLACE_BITS) | (place + 1)) >>> 0
    this.#slots[slot + 1] = value
    this.#slotsTaken += 1
    this.size += 1
  }

  /** Where the key's slot begins, or else the free one that it would take. */
  #slotOf(key: string, hash: number): number {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let at = ((hash >>> 8) * 2) & mask; ; at = (at + 2) & mask) {
      const word = slots[at]!
      if (word === 0 || (word >>> PLACE_BITS === hash >>> PLACE_BITS && this.#isAt((word & PLACE_MASK) - 1, key))) return at
    }
  }

  #isAt(place: number, key: string): boolean {
    const bytes = this.#bytes
    if (bytes[place] !== key.length) return false
    for (let i = 0; i < key.length; i += 1) if (bytes[place + 1 + i] !== key.charCodeAt(i)) return false
    return true
  }

  /** Makes room for so many bytes and a key more; what was deleted goes. */
  #grow(bytesMore: number): void {
    const entries: [string, number][] = []
    let bytesWanted = bytesMore
    for (let at = 0; at < this.#slots.length; at += 2) {
      const value = this.#slots[at + 1]!
      if (value === 0) continue
      const start = (this.#slots[at]! & PLACE_MASK) - 1
      const key = this.#bytes.toString('latin1', start + 1, start + 1 + this.#bytes[start]!)
      entries.push([key, value])
      bytesWanted += key.length + 1
    }
    let slots = SLOTS_MIN
    while (slots * FILL_MAX < entries.length * GROWTH) slots *= 2
    this.#slots = new Uint32Array(2 * slots)
    this.#bytes = Buffer.alloc(Math.ceil(bytesWanted * GROWTH))
    this.size = this.#slotsTaken = this.#bytesTaken = 0
    for (const [key, value] of entries) this.add(key, halfSipHash(key, this.#hashKey), value)
  }
}
