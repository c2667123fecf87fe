import { createDecipheriv, createHmac } from 'node:crypto'

/** What becomes of a server's first bytes. */
export type FlightParts = {
  /** TLS may have these. */
  pass(bytes: Buffer): void
  /** The chain (DER) that the server shows: why it is not to be looked at, or undefined. */
  objectionTo(chain: readonly Buffer[]): string | undefined
  /** Nothing passes any more. */
  refuse(reason: string): void
  /** Of all that the server says. */
  bytesMax: number
}

const RECORD = { changeCipherSpec: 20, alert: 21, handshake: 22, data: 23 } as const
const MESSAGE = { serverHello: 2, certificate: 11, finished: 20, compressedCertificate: 25 } as const
const HEAD_BYTES = 5
const TAG_BYTES = 16
/** Of all that a server says before its certificates have passed: twice what these may have. */
const BYTES_MAX = 64 * 1024
const NOTHING = Buffer.alloc(0)
/** What a ServerHello has in the place of a random number when it asks for another ClientHello (RFC 8446 §4.1.3). */
const RETRY = Buffer.from('cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c', 'hex')
const SECRET = 'SERVER_HANDSHAKE_TRAFFIC_SECRET '
/** The ciphers of TLS 1.3 that we offer (RFC 8446 §B.4). */
const CIPHERS: Record<number, { name: 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305'; keyBytes: number; hash: string }> = {
  4865: { name: 'aes-128-gcm', keyBytes: 16, hash: 'sha256' },
  4866: { name: 'aes-256-gcm', keyBytes: 32, hash: 'sha384' },
  4867: { name: 'chacha20-poly1305', keyBytes: 32, hash: 'sha256' },
}

type Open = (head: Buffer, sealed: Buffer) => Buffer

/**
 * Reads along what a server says in its handshake, record by record, until its certificates have come, or it has shown that it needs none: before
 * OpenSSL has them. In TLS 1.3 they are encrypted, with a secret that OpenSSL tells (`keylog`) once it has the ServerHello.
 */
export class ServerFlight {
  readonly #parts: FlightParts
  /** `no records`: OpenSSL is told of what has come, to say what is wrong with it, and of nothing more. */
  #state: 'before' | 'behind' | 'no records' | 'refused' = 'before'
  #waiting = NOTHING
  #messages = NOTHING
  #bytes = 0
  #cipher = 0
  #open: Open | undefined
  #isPassing = false

  constructor(parts: FlightParts) {
    this.#parts = parts
  }

  take(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes > this.#parts.bytesMax) this.#refuse('more bytes than an answer has')
    if (this.#state === 'behind') this.#parts.pass(bytes)
    if (this.#state === 'before') this.#look(bytes, Math.max(0, BYTES_MAX - (this.#bytes - bytes.length)))
  }

  /** Never at more than what it may have: what is beyond would have cost its time by then. */
  #look(bytes: Buffer, bytesMax: number): void {
    this.#waiting = Buffer.concat([this.#waiting, bytes.subarray(0, bytesMax)])
    this.#goOn()
    if (this.#state === 'before' && bytes.length > bytesMax) this.#refuse(`${this.#bytes} bytes before its certificates`)
    if (this.#state === 'behind' && bytes.length > bytesMax) this.#parts.pass(bytes.subarray(bytesMax))
  }

  /** A line of OpenSSL's key log. */
  hear(line: Buffer): void {
    const text = line.toString('latin1')
    const cipher = CIPHERS[this.#cipher]
    if (!text.startsWith(SECRET) || !cipher) return
    this.#open = opening(cipher, Buffer.from(text.slice(text.lastIndexOf(' ') + 1).trim(), 'hex'))
    this.#goOn()
  }

  #goOn(): void {
    if (this.#isPassing) return // OpenSSL tells the secret while it reads the record that passes
    while (this.#state === 'before' && this.#waiting.length >= HEAD_BYTES) {
      if (!isRecord(this.#waiting) || (this.#waiting[0] === RECORD.data && this.#cipher === 0)) {
        this.#state = 'no records' // or data before a ServerHello
        break
      }
      const end = HEAD_BYTES + this.#waiting.readUInt16BE(3)
      if (this.#waiting.length < end || (this.#waiting[0] === RECORD.data && !this.#open)) return
      const record = this.#waiting.subarray(0, end)
      this.#waiting = this.#waiting.subarray(end)
      if (this.#mayPass(record)) this.#pass(record)
    }
    if (this.#state === 'before' || this.#waiting.length === 0) return
    const rest = this.#waiting
    this.#waiting = this.#messages = NOTHING
    this.#pass(rest)
  }

  #pass(bytes: Buffer): void {
    this.#isPassing = true
    this.#parts.pass(bytes)
    this.#isPassing = false
  }

  #mayPass(record: Buffer): boolean {
    const type = record[0]
    if (type === RECORD.changeCipherSpec && this.#isTls12)
      this.#state = 'behind' // the certificates came before, or a session resumes
    else if (type === RECORD.handshake && !this.#open) this.#read(record.subarray(HEAD_BYTES))
    else if (type === RECORD.data) this.#readSealed(record)
    return this.#state !== 'refused'
  }

  get #isTls12(): boolean {
    return this.#cipher !== 0 && CIPHERS[this.#cipher] === undefined
  }

  #readSealed(record: Buffer): void {
    let inner: Buffer
    try {
      inner = this.#open!(record.subarray(0, HEAD_BYTES), record.subarray(HEAD_BYTES))
    } catch {
      this.#refuse('a record that cannot be opened')
      return
    }
    let end = inner.length - 1
    while (end > 0 && inner[end] === 0) end -= 1 // padding (RFC 8446 §5.4)
    if (inner[end] === RECORD.handshake) this.#read(inner.subarray(0, end))
    else if (inner[end] === RECORD.data) this.#refuse('data within its handshake')
  }

  #read(bytes: Buffer): void {
    this.#messages = Buffer.concat([this.#messages, bytes])
    while (this.#state === 'before' && this.#messages.length >= 4) {
      const end = 4 + this.#messages.readUIntBE(1, 3)
      if (this.#messages.length < end) return
      const [type, body] = [this.#messages[0], this.#messages.subarray(4, end)]
      this.#messages = this.#messages.subarray(end)
      if (type === MESSAGE.serverHello) this.#greeted(body)
      else if (type === MESSAGE.certificate) this.#judge(body)
      else if (type === MESSAGE.compressedCertificate) this.#refuse('certificates in a form that we did not offer')
      else if (type === MESSAGE.finished) this.#state = 'behind' // a session resumes
    }
  }

  #greeted(hello: Buffer): void {
    if (!hello.subarray(2, 34).equals(RETRY) && hello.length >= 37)
      this.#cipher = hello.readUInt16BE(35 + Math.min(hello[34]!, hello.length - 37))
  }

  #judge(body: Buffer): void {
    const objection = this.#parts.objectionTo(chainIn(body, { inTls13: this.#open !== undefined }))
    if (objection !== undefined) this.#refuse(objection)
    else this.#state = 'behind'
  }

  #refuse(reason: string): void {
    if (this.#state === 'refused') return
    this.#state = 'refused'
    this.#waiting = this.#messages = NOTHING
    this.#parts.refuse(reason)
  }
}

function isRecord(bytes: Buffer): boolean {
  return bytes[0]! >= RECORD.changeCipherSpec && bytes[0]! <= RECORD.data && bytes[1] === 3
}

/** The certificates of a Certificate message (RFC 8446 §4.4.2, RFC 5246 §7.4.2); what is no list is one certificate that cannot be read. */
function chainIn(body: Buffer, { inTls13 }: { inTls13: boolean }): Buffer[] {
  const chain: Buffer[] = []
  let at = (inTls13 ? 1 + (body[0] ?? 0) : 0) + 3
  while (at + 3 <= body.length) {
    const end = at + 3 + body.readUIntBE(at, 3)
    chain.push(body.subarray(at + 3, end))
    at = end
    if (inTls13) at += 2 + (at + 2 <= body.length ? body.readUInt16BE(at) : 0)
  }
  return chain
}

/** Opens records one after the other with the keys of a secret (RFC 8446 §5.2). */
function opening({ name, keyBytes, hash }: (typeof CIPHERS)[number], secret: Buffer): Open {
  const key = expand(hash, secret, 'key', keyBytes)
  const iv = expand(hash, secret, 'iv', 12)
  let count = 0
  return (head, sealed) => {
    const nonce = Buffer.from(iv)
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ count) >>> 0, 8)
    count += 1
    // One of three by a name that is not known here: the types ask for one in particular.
    const decipher = createDecipheriv(name as 'chacha20-poly1305', key, nonce, { authTagLength: TAG_BYTES })
    const text = sealed.length - TAG_BYTES
    decipher.setAAD(head, { plaintextLength: text }).setAuthTag(sealed.subarray(text))
    return Buffer.concat([decipher.update(sealed.subarray(0, text)), decipher.final()])
  }
}

/** HKDF-Expand-Label (RFC 8446 §7.1) for no more than one hash. */
function expand(hash: string, secret: Buffer, label: string, bytes: number): Buffer {
  const info = Buffer.concat([Buffer.of(0, bytes, 6 + label.length), Buffer.from(`tls13 ${label}`), Buffer.of(0, 1)])
  return createHmac(hash, secret).update(info).digest().subarray(0, bytes)
}
