import type { Fields } from './engine.ts'
import { FieldSection } from './field-section.ts'
import type { Unsent } from './unsent.ts'

const HOST = ' HTTP/1.1\r\nHost: '
const FOR = 'X-Forwarded-For: '
const PROTO_AND_HOST = '\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: '
const ID = '\r\nX-Request-Id: '
const LOOP = '\r\nCDN-Loop: '

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
  readonly #parts: ForwardedParts
  #isAgain = false
  /** A head of HTTP/1.1 from behind its target, as bytes; the id comes at `#idAt`. */
  #ready: Buffer | undefined
  #idAt = 0

  constructor(parts: ForwardedParts) {
    this.#parts = parts
    this.id = parts.id
  }

  /** The lines with a request's id. */
  with(id: string): string {
    const { said, chain, authority, loop } = this.#parts
    return `${said}${FOR}${chain}${PROTO_AND_HOST}${authority}${ID}${id}${LOOP}${loop}\r\n`
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
    const { said, chain, authority, loop } = this.#parts
    unsent.addText(HOST)
    unsent.addText(authority)
    unsent.addText('\r\n')
    unsent.addText(said)
    unsent.addText(FOR)
    unsent.addText(chain)
    unsent.addText(PROTO_AND_HOST)
    unsent.addText(authority)
    unsent.addText(ID)
    unsent.addText(id)
    unsent.addText(LOOP)
    unsent.addText(loop)
    unsent.addText('\r\n')
  }

  #makeReady(): Buffer {
    const { said, chain, authority, loop } = this.#parts
    const before = `${HOST}${authority}\r\n${said}${FOR}${chain}${PROTO_AND_HOST}${authority}${ID}`
    const behind = `${LOOP}${loop}\r\n`
    this.#idAt = before.length
    const ready = Buffer.allocUnsafeSlow(before.length + behind.length) // memory of its own: it stays as long as its connection
    ready.write(before, 'latin1')
    ready.write(behind, before.length, 'latin1')
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
