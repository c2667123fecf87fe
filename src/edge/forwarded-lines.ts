import type { Fields } from './engine.ts'
import { FieldSection } from './field-section.ts'
import type { RequestId } from './request-ids.ts'
import type { Unsent } from './unsent.ts'

const HOST = Buffer.from(' HTTP/1.1\r\nHost: ')
const HOST_END = '\r\n'
const FOR = 'X-Forwarded-For: '
const PROTO_AND_HOST = '\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: '
const ID = Buffer.from('\r\nX-Request-Id: ')
const LOOP = '\r\nCDN-Loop: '

export type ForwardedParts = {
  /** The visitor's own lines that go on. */
  said: string
  /** The addresses that the request came over. */
  chain: string
  /** The networks that the request came through (RFC 8586). */
  loop: string
}

/** The end-to-end lines as an upstream gets them, but for the authority and the request's id, which stand between them: what requests of one connection have in common. */
export class ForwardedLines {
  /** From behind Host's value to the authority's second place, and from behind the id. */
  readonly #middle: string
  readonly #behind: string
  #middleBytes: Buffer | undefined
  #behindBytes: Buffer | undefined
  /** What the first request asked for, and all up to the id once that was said twice. A proxy's connection asks for another one each time. */
  #authority: string | undefined
  #beforeBytes: Buffer | undefined

  constructor({ said, chain, loop }: ForwardedParts) {
    this.#middle = `${HOST_END}${said}${FOR}${chain}${PROTO_AND_HOST}`
    this.#behind = `${LOOP}${loop}\r\n`
  }

  /** The lines with a request's authority and id. */
  with(authority: string, id: RequestId): string {
    return `${this.#middle.slice(HOST_END.length)}${authority}${ID}${id}${this.#behind}`
  }

  /** Adds the request line's end, `Host` and the lines. What is said again is kept ready as bytes: twice is the beginning of often. */
  addTo(unsent: Unsent, authority: string, id: RequestId): void {
    if (authority === this.#authority) {
      this.#beforeBytes ??= standing(`${HOST}${authority}${this.#middle}${authority}${ID}`)
      this.#behindBytes ??= standing(this.#behind)
      unsent.addBytes(this.#beforeBytes)
    } else this.#addBefore(unsent, authority)
    if (typeof id === 'string') unsent.addText(id)
    else unsent.addBytes(id.bytes, id.at, id.end)
    if (this.#behindBytes) unsent.addBytes(this.#behindBytes)
    else unsent.addText(this.#behind)
  }

  /** Adds all up to the id for another authority than the first one. */
  #addBefore(unsent: Unsent, authority: string): void {
    if (this.#authority === undefined) this.#authority = authority
    else {
      this.#middleBytes ??= standing(this.#middle)
      this.#behindBytes ??= standing(this.#behind)
    }
    unsent.addBytes(HOST)
    unsent.addText(authority)
    if (this.#middleBytes) unsent.addBytes(this.#middleBytes)
    else unsent.addText(this.#middle)
    unsent.addText(authority)
    unsent.addBytes(ID)
  }
}

/** The end-to-end fields of one request as its upstream gets them. */
export class ForwardedFields {
  readonly #lines: ForwardedLines
  readonly #authority: string
  readonly #id: RequestId

  constructor(lines: ForwardedLines, authority: string, id: RequestId) {
    this.#lines = lines
    this.#authority = authority
    this.#id = id
  }

  get list(): Fields {
    return FieldSection.ofLines(this.#lines.with(this.#authority, this.#id)).list
  }

  /** Adds a head of HTTP/1.1 from behind its target, but for the empty line. */
  addTo(unsent: Unsent): void {
    this.#lines.addTo(unsent, this.#authority, this.#id)
  }
}

/** In memory of its own, since it stays as long as its connection. */
function standing(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(text.length)
  bytes.write(text, 'latin1')
  return bytes
}
