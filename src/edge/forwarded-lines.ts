import type { Fields } from './engine.ts'
import { FieldSection } from './field-section.ts'
import type { Unsent } from './unsent.ts'

const HOST = ' HTTP/1.1\r\nHost: '
const FOR = 'X-Forwarded-For: '
const PROTO_AND_HOST = '\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: '
const ID = '\r\nX-Request-Id: '
const LOOP = '\r\nCDN-Loop: '
const LINES_AT = 3

export type ForwardedParts = {
  /** The visitor's own lines that go on. */
  said: string
  /** The addresses that the request came over. */
  chain: string
  authority: string
  /** What a proxy that we trust has called the request. */
  id: string | undefined
  /** The networks that the request came through (RFC 8586). */
  loop: string
}

/** The end-to-end lines as an upstream gets them, but for the request's id, which stands between them: what requests of one connection have in common. */
export class ForwardedLines {
  readonly id: string | undefined
  /** The pieces of a head of HTTP/1.1 from behind its target to the id, the lines from LINES_AT on, and those behind the id. */
  readonly #before: readonly string[]
  readonly #behind: readonly string[]
  #isAgain = false
  /** All pieces as bytes; the id comes at `#idAt`. */
  #ready: Buffer | undefined
  #idAt = 0

  constructor({ said, chain, authority, id, loop }: ForwardedParts) {
    this.id = id
    this.#before = [HOST, authority, '\r\n', said, FOR, chain, PROTO_AND_HOST, authority, ID]
    this.#behind = [LOOP, loop, '\r\n']
  }

  /** The lines with a request's id. */
  with(id: string): string {
    return `${this.#before.slice(LINES_AT).join('')}${id}${this.#behind.join('')}`
  }

  /** Adds the request line's end, `Host` and the lines. What is said again is kept ready: twice is the beginning of often. */
  addTo(unsent: Unsent, id: string): void {
    if (this.#isAgain) this.#ready ??= this.#makeReady()
    this.#isAgain = true
    if (this.#ready) {
      unsent.addBytes(this.#ready, 0, this.#idAt)
      unsent.addText(id)
      unsent.addBytes(this.#ready, this.#idAt, this.#ready.length)
      return
    }
    for (const piece of this.#before) unsent.addText(piece)
    unsent.addText(id)
    for (const piece of this.#behind) unsent.addText(piece)
  }

  /** In memory of its own, since it stays as long as its connection. */
  #makeReady(): Buffer {
    const before = this.#before.join('')
    const behind = this.#behind.join('')
    this.#idAt = before.length
    const ready = Buffer.allocUnsafeSlow(before.length + behind.length)
    ready.write(before + behind, 'latin1')
    return ready
  }
}

/** The end-to-end fields of one request as its upstream gets them. */
export class ForwardedFields {
  readonly #lines: ForwardedLines
  readonly #id: string

  /** `requestId`: for what no proxy that we trust has given an id. */
  constructor(lines: ForwardedLines, requestId: string) {
    this.#lines = lines
    this.#id = lines.id ?? requestId
  }

  get list(): Fields {
    return FieldSection.ofLines(this.#lines.with(this.#id)).list
  }

  /** Adds a head of HTTP/1.1 from behind its target, but for the empty line. */
  addTo(unsent: Unsent): void {
    this.#lines.addTo(unsent, this.#id)
  }
}
