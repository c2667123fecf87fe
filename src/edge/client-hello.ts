import type { Socket } from 'node:net'
import { copyOf } from './let-go.ts'
import { readIntoShared, readIntoStream, shared } from './own-reads.ts'

/** `extensions`: as they came, for what is seldom asked of them. */
export type ClientHello =
  | { kind: 'hello'; servername: string | undefined; extensions: Buffer | undefined }
  | { kind: 'incomplete' }
  | { kind: 'unreadable' }

/** The application protocol of a TLS-ALPN-01 validation (RFC 8737 §4). */
export const ACME_TLS = 'acme-tls/1'

/** A hello of today has some 2 KB. It is read anew whenever more of it comes, so both ceilings bound what a sender of crumbs can cost. */
const HELLO_BYTES_MAX = 16 * 1024
const RECORDS_MAX = 64
/** With what may come behind it before it is answered: 16 KB of early data (RFC 8446 §4.2.10), in however small records. */
const HELD_BACK_BYTES_MAX = 48 * 1024
const RECORD_HANDSHAKE = 22
const MESSAGE_CLIENT_HELLO = 1
const EXTENSION_SERVER_NAME = 0
const EXTENSION_ALPN = 16
const NOTHING = Buffer.alloc(0)
const ACME_TLS_ALONE = Buffer.concat([Buffer.from([0, ACME_TLS.length + 1, ACME_TLS.length]), Buffer.from(ACME_TLS)])

/** Reads the server name out of the first bytes of a TLS connection (RFC 8446 §4.1.2, RFC 6066 §3); the message may span records. */
export function readClientHello(bytes: Buffer): ClientHello {
  const message = joinRecords(bytes)
  if (typeof message === 'string') return { kind: message }
  const at = new Cursor(message)
  if (at.number(1) !== MESSAGE_CLIENT_HELLO) return { kind: 'unreadable' }
  const body = at.vector(3)
  if (!body) return { kind: 'incomplete' }
  const hello = new Cursor(body)
  hello.skip(2 + 32) // version, random
  if (!hello.vector(1) || !hello.vector(2) || !hello.vector(1)) return { kind: 'unreadable' } // session id, cipher suites, compression
  if (hello.isAtEnd) return { kind: 'hello', servername: undefined, extensions: undefined }
  const extensions = hello.vector(2)
  return extensions ? findServername(extensions) : { kind: 'unreadable' }
}

/** Whether this is an authority that validates by TLS-ALPN-01: `acme-tls/1` is the only protocol it offers (RFC 8737 §3, RFC 7301 §3.1). */
export function isValidation({ extensions }: ClientHello & { kind: 'hello' }): boolean {
  const at = new Cursor(extensions ?? Buffer.alloc(0))
  while (!at.isAtEnd) {
    const type = at.number(2)
    const data = at.vector(2)
    if (type === EXTENSION_ALPN) return data?.equals(ACME_TLS_ALONE) ?? false
  }
  return false
}

/**
 * Waits for the whole ClientHello and puts its bytes back, so that TLS can begin as if nobody had looked. Resolves with `incomplete` when the
 * connection ends before, or sends nothing for so long that it was closed.
 */
export function peekClientHello(socket: Socket): Promise<ClientHello> {
  return new Promise((resolve) => {
    let kept: Buffer = NOTHING
    const look = (bytes: Buffer) => {
      kept = kept.length === 0 ? bytes : Buffer.concat([kept, bytes])
      let hello = readClientHello(kept)
      if (hello.kind === 'incomplete' && kept.length <= HELLO_BYTES_MAX) return
      if (hello.kind === 'incomplete') hello = { kind: 'unreadable' }
      socket.unshift(kept) // only once: each unshift makes the socket readable again
      settle(hello)
    }
    const gone = () => settle({ kind: 'incomplete' })
    const settle = (hello: ClientHello) => {
      takeNoMore()
      socket.off('end', gone).off('close', gone)
      resolve(hello)
    }
    const takeNoMore = takeFirstBytes(socket, look)
    socket.once('end', gone).once('close', gone)
  })
}

/** Hands what comes to `take`, never before this returns. What it returns ends that: from then on what comes goes into the stream. */
function takeFirstBytes(socket: Socket, take: (bytes: Buffer) => void): () => void {
  const arrived = (bytes: number): boolean => {
    take(copyOf(shared, 0, bytes))
    return true
  }
  // A stream's events, each of them a turn of its own, are a tenth of what a handshake costs a bare server (docs/decisions/0070).
  if (socket.readableLength === 0 && readIntoShared(socket, arrived)) return () => readIntoStream(socket)
  const look = () => {
    const bytes = socket.read() as Buffer | null
    if (bytes) take(bytes)
  }
  socket.on('readable', look)
  return () => socket.off('readable', look)
}

/**
 * Takes what has come of the connection, and what comes, so that its end is seen; returns what gives it back, to be called once. Nobody says much before
 * the ClientHello is answered: who does is cut off.
 */
export function holdBack(socket: Socket): () => void {
  const kept: Buffer[] = []
  let bytes = 0
  const take = () => {
    const come = socket.read() as Buffer | null
    if (!come) return
    kept.push(come)
    bytes += come.length
    if (bytes > HELD_BACK_BYTES_MAX) socket.destroy()
  }
  socket.on('readable', take)
  take()
  return () => {
    socket.off('readable', take)
    if (!socket.destroyed && !socket.readableEnded && kept.length > 0) socket.unshift(Buffer.concat(kept))
  }
}

/** The handshake bytes of the records up to the end of the first message, or why there are none. What lies behind it is for TLS: a request, even (RFC 8446 §4.2.10). */
function joinRecords(bytes: Buffer): Buffer | 'incomplete' | 'unreadable' {
  const parts: Buffer[] = []
  let joined = 0
  let wanted: number | undefined
  let at = 0
  while (at < bytes.length) {
    if (bytes[at] !== RECORD_HANDSHAKE || (at + 1 < bytes.length && bytes[at + 1] !== 3)) return 'unreadable'
    if (at + 5 > bytes.length) break
    if (parts.length === RECORDS_MAX) return 'unreadable'
    const end = at + 5 + bytes.readUInt16BE(at + 3)
    parts.push(bytes.subarray(at + 5, Math.min(end, bytes.length)))
    const first = parts[0]!
    if (first.length > 0 && first[0] !== MESSAGE_CLIENT_HELLO) return 'unreadable'
    joined += parts.at(-1)!.length
    if (joined >= 4) wanted ??= 4 + join(parts).readUIntBE(1, 3)
    if (wanted !== undefined && joined >= wanted) return join(parts)
    at = end
  }
  return 'incomplete'
}

function join(parts: Buffer[]): Buffer {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

function findServername(extensions: Buffer): ClientHello {
  const at = new Cursor(extensions)
  let servername: string | undefined
  while (!at.isAtEnd) {
    const type = at.number(2)
    const data = at.vector(2)
    if (!data) return { kind: 'unreadable' }
    if (type !== EXTENSION_SERVER_NAME) continue
    const list = new Cursor(data).vector(2)
    if (!list || servername !== undefined) return { kind: 'unreadable' }
    const names = new Cursor(list)
    const nameType = names.number(1)
    const name = names.vector(2)
    if (nameType !== 0 || !name) return { kind: 'unreadable' }
    servername = name.toString('latin1')
  }
  return { kind: 'hello', servername, extensions }
}

class Cursor {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  skip(count: number): void {
    this.#at += count
  }

  /** A number of `size` bytes; NaN past the end. */
  number(size: 1 | 2 | 3): number {
    if (this.#at + size > this.#bytes.length) {
      this.#at = this.#bytes.length
      return Number.NaN
    }
    this.#at += size
    return this.#bytes.readUIntBE(this.#at - size, size)
  }

  /** Bytes behind their own length of `size` bytes; undefined when fewer are there. */
  vector(size: 1 | 2 | 3): Buffer | undefined {
    const length = this.number(size)
    if (Number.isNaN(length) || this.#at + length > this.#bytes.length) return undefined
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}
