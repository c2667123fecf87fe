import { createCipheriv, createHash, createHmac } from 'node:crypto'

export const RECORD = { changeCipherSpec: 20, alert: 21, handshake: 22, data: 23 } as const
export const MESSAGE = {
  helloRequest: 0,
  clientHello: 1,
  serverHello: 2,
  newSessionTicket: 4,
  encryptedExtensions: 8,
  certificate: 11,
  certificateVerify: 15,
  finished: 20,
  keyUpdate: 24,
} as const
export const NOTHING = Buffer.alloc(0)
export const HASH_BYTES = 32
const TLS12 = 0x0303
const TAG_BYTES = 16

/** Protects records one after the other; `update` with the keys that follow a KeyUpdate. */
export type Sealing = { (type: number, content: Buffer): Buffer; update(): void }

/** By the keys of a secret of TLS 1.3 with AES-128-GCM (RFC 8446 §5.2). */
export function sealing(first: Buffer): Sealing {
  let secret: Buffer
  let key: Buffer
  let iv: Buffer
  let count: number
  const begin = (next: Buffer) => {
    secret = next
    key = expand(secret, 'key', NOTHING, 16)
    iv = expand(secret, 'iv', NOTHING, 12)
    count = 0
  }
  begin(first)
  const seal = (type: number, content: Buffer) => {
    const nonce = Buffer.from(iv)
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ count) >>> 0, 8)
    count += 1
    const inner = Buffer.concat([content, Buffer.of(type)])
    const head = Buffer.concat([Buffer.of(RECORD.data), u16(TLS12, inner.length + TAG_BYTES)])
    const cipher = createCipheriv('aes-128-gcm', key, nonce).setAAD(head)
    return Buffer.concat([head, cipher.update(inner), cipher.final(), cipher.getAuthTag()])
  }
  return Object.assign(seal, { update: () => begin(expand(secret, 'traffic upd')) })
}

/** By the client's keys of a session of TLS 1.2 with AES-128-GCM, behind its Finished (RFC 5288 §3, RFC 5246 §6.3). */
export function sealing12(master: Buffer, clientRandom: Buffer, serverRandom: Buffer): Sealing {
  const seed = Buffer.concat([Buffer.from('key expansion'), serverRandom, clientRandom])
  const first = hmac(master, seed)
  const block = Buffer.concat([first, hmac(master, first)].map((step) => hmac(master, Buffer.concat([step, seed]))))
  const key = block.subarray(0, 16)
  const salt = block.subarray(32, 36)
  let count = 1n // the Finished was the first one
  const seal = (type: number, content: Buffer) => {
    const number = Buffer.alloc(8)
    number.writeBigUInt64BE(count)
    count += 1n
    const cipher = createCipheriv('aes-128-gcm', key, Buffer.concat([salt, number]))
    cipher.setAAD(Buffer.concat([number, Buffer.of(type), u16(TLS12, ...sized(2, content)).subarray(0, 4)]))
    return record(type, Buffer.concat([number, cipher.update(content), cipher.final(), cipher.getAuthTag()]))
  }
  return Object.assign(seal, { update() {} })
}

/** Says, with its keys, that the next ones follow, and takes those; `andYours` has the other side do the same (RFC 8446 §4.6.3). */
export function keyUpdate(seal: Sealing, { andYours = false } = {}): Buffer {
  const said = seal(RECORD.handshake, message(MESSAGE.keyUpdate, Buffer.of(Number(andYours))))
  seal.update()
  return said
}

export const record = (type: number, content: Buffer) => Buffer.concat([Buffer.of(type), u16(TLS12, ...sized(2, content))])
export const message = (type: number, ...parts: Buffer[]) => Buffer.concat([Buffer.of(type), ...sized(3, Buffer.concat(parts))])
export const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest()
export const hmac = (key: Buffer, bytes: Buffer) => createHmac('sha256', key).update(bytes).digest()
export const derive = (secret: Buffer, label: string, said: Buffer) => expand(secret, label, sha256(said))

/** HKDF-Expand-Label (RFC 8446 §7.1). */
export function expand(secret: Buffer, label: string, context = NOTHING, bytes = HASH_BYTES): Buffer {
  const info = Buffer.concat([u16(bytes), ...sized(1, Buffer.from(`tls13 ${label}`)), ...sized(1, context), Buffer.of(1)])
  return hmac(secret, info).subarray(0, bytes)
}

/** A length in so many bytes, and what has it. */
export function sized(lengthBytes: number, content: Buffer): [Buffer, Buffer] {
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(content.length, 0, lengthBytes)
  return [length, content]
}

export function u16(...parts: (number | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part >>> 8, part & 0xff) : part)))
}
