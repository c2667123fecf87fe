import { ENTRY_OVERHEAD_BYTES, HeaderField } from './header-field.ts'

/** RFC 7541, appendix A: names and values in turn. The first has index 1. */
// biome-ignore format: a table
const STATIC_ENTRIES = [
  ':authority', '', ':method', 'GET', ':method', 'POST', ':path', '/', ':path', '/index.html', ':scheme', 'http',
  ':scheme', 'https', ':status', '200', ':status', '204', ':status', '206', ':status', '304', ':status', '400', ':status', '404',
  ':status', '500', 'accept-charset', '', 'accept-encoding', 'gzip, deflate', 'accept-language', '', 'accept-ranges', '',
  'accept', '', 'access-control-allow-origin', '', 'age', '', 'allow', '', 'authorization', '', 'cache-control', '',
  'content-disposition', '', 'content-encoding', '', 'content-language', '', 'content-length', '', 'content-location', '',
  'content-range', '', 'content-type', '', 'cookie', '', 'date', '', 'etag', '', 'expect', '', 'expires', '', 'from', '',
  'host', '', 'if-match', '', 'if-modified-since', '', 'if-none-match', '', 'if-range', '', 'if-unmodified-since', '',
  'last-modified', '', 'link', '', 'location', '', 'max-forwards', '', 'proxy-authenticate', '', 'proxy-authorization', '',
  'range', '', 'referer', '', 'refresh', '', 'retry-after', '', 'server', '', 'set-cookie', '', 'strict-transport-security', '',
  'transfer-encoding', '', 'user-agent', '', 'vary', '', 'via', '', 'www-authenticate', '',
]

export const STATIC_TABLE: readonly HeaderField[] = Array.from(
  { length: STATIC_ENTRIES.length / 2 },
  (_, i) => new HeaderField(STATIC_ENTRIES[2 * i]!, STATIC_ENTRIES[2 * i + 1]!),
)

/** The fields that a peer has told us to remember, newest first, up to a size (RFC 7541 §2.3.2). A ring: nothing moves when one is added. */
export class DynamicTable {
  readonly #ring: (HeaderField | undefined)[]
  readonly #mask: number
  #head = 0
  #count = 0
  #size = 0
  #sizeMax: number
  #changes = 0

  /** `sizeMax` is a power of two. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
    this.#ring = new Array(sizeMax / ENTRY_OVERHEAD_BYTES) // no entry is smaller
    this.#mask = this.#ring.length - 1
  }

  get size(): number {
    return this.#size
  }

  /** How often it has been changed: as long as the number is the same, an index means the same. */
  get changes(): number {
    return this.#changes
  }

  /** From 0, the newest. */
  at(index: number): HeaderField | undefined {
    return index < this.#count ? this.#ring[(this.#head + index) & this.#mask] : undefined
  }

  add(field: HeaderField): void {
    this.#changes += 1
    this.#shrinkTo(this.#sizeMax - field.size)
    if (field.size > this.#sizeMax) return
    this.#head = (this.#head - 1) & this.#mask
    this.#ring[this.#head] = field
    this.#count += 1
    this.#size += field.size
  }

  resize(sizeMax: number): void {
    this.#changes += 1
    this.#sizeMax = sizeMax
    this.#shrinkTo(sizeMax)
  }

  #shrinkTo(size: number): void {
    while (this.#size > size && this.#count > 0) {
      this.#count -= 1
      const oldest = (this.#head + this.#count) & this.#mask
      this.#size -= this.#ring[oldest]!.size
      this.#ring[oldest] = undefined
    }
  }
}
