import { createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import {
  derive,
  expand,
  HASH_BYTES,
  hmac,
  keyUpdate,
  MESSAGE,
  message,
  NOTHING,
  RECORD,
  record,
  sealing,
  sha256,
  sized,
  u16,
} from './tls-records.ts'

/** What the server may say with its keys behind its Finished: whole records. */
export type Records = {
  data(text: string): Buffer
  tickets(count: number): Buffer
  alert(description: number): Buffer
  keyUpdates(count: number): Buffer
}

const EXTENSION = { supportedVersions: 43, keyShare: 51 } as const
const AES_128_GCM_SHA256 = 0x1301
const ECDSA_P256_SHA256 = 0x0403
const X25519 = 0x1d
const TLS12 = 0x0303
const TLS13 = 0x0304
const FATAL = 2
const RECORD_BYTES = 16_000
const X25519_SPKI = Buffer.from('302a300506032b656e032100', 'hex')
const ZEROES = Buffer.alloc(HASH_BYTES)

/**
 * A server of TLS 1.3 (RFC 8446) made by hand, for what OpenSSL never says: `behind` follows its first flight in the same bytes, before the client's
 * Finished. It chooses no protocol (ALPN), reads nothing after the ClientHello, and knows one cipher (AES-128-GCM), one group and one kind of key.
 */
export async function startTls13Server(certificate: { chainPem: string; keyPem: string }, behind: (records: Records) => Buffer[]) {
  const chain = certificate.chainPem.match(/-----BEGIN[^-]*-----[^-]*-----END[^-]*-----/g)!.map((pem) => new X509Certificate(pem).raw)
  const key = createPrivateKey(certificate.keyPem)
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (hello: Buffer) => {
      const { session, share } = readClientHello(hello)
      const clientHello = hello.subarray(5, 5 + hello.readUInt16BE(3))
      const ours = generateKeyPairSync('x25519')
      const theirs = createPublicKey({ key: Buffer.concat([X25519_SPKI, share]), format: 'der', type: 'spki' })
      const ourShare = ours.publicKey.export({ format: 'der', type: 'spki' }).subarray(-HASH_BYTES)
      const keyShare = u16(EXTENSION.keyShare, ...sized(2, u16(X25519, ...sized(2, ourShare))))
      const extensions = Buffer.concat([u16(EXTENSION.supportedVersions, ...sized(2, u16(TLS13))), keyShare])
      const chosen = [u16(TLS12), randomBytes(32), ...sized(1, session), u16(AES_128_GCM_SHA256), Buffer.of(0), ...sized(2, extensions)]
      const serverHello = message(MESSAGE.serverHello, ...chosen)

      const early = hmac(ZEROES, ZEROES)
      const handshake = hmac(derive(early, 'derived', NOTHING), diffieHellman({ privateKey: ours.privateKey, publicKey: theirs }))
      const said = [clientHello, serverHello]
      const handshakeSecret = derive(handshake, 's hs traffic', Buffer.concat(said))
      said.push(message(MESSAGE.encryptedExtensions, ...sized(2, NOTHING)))
      const shown = Buffer.concat(chain.flatMap((der) => [...sized(3, der), u16(0)]))
      said.push(message(MESSAGE.certificate, Buffer.of(0), ...sized(3, shown)))
      const signed = Buffer.concat([Buffer.alloc(64, ' '), Buffer.from('TLS 1.3, server CertificateVerify\0'), sha256(Buffer.concat(said))])
      said.push(message(MESSAGE.certificateVerify, u16(ECDSA_P256_SHA256, ...sized(2, sign('sha256', signed, key)))))
      said.push(message(MESSAGE.finished, hmac(expand(handshakeSecret, 'finished'), sha256(Buffer.concat(said)))))
      const seal = sealing(handshakeSecret)
      const flight = said
        .slice(2)
        .flatMap(inRecords)
        .map((content) => seal(RECORD.handshake, content))

      const sealData = sealing(derive(hmac(derive(handshake, 'derived', NOTHING), ZEROES), 's ap traffic', Buffer.concat(said)))
      const ticket = [Buffer.alloc(4, 1), Buffer.alloc(4, 2), ...sized(1, Buffer.of(0)), ...sized(2, randomBytes(32)), u16(0)]
      const after = behind({
        data: (text) => sealData(RECORD.data, Buffer.from(text)),
        tickets: (count) =>
          sealData(RECORD.handshake, Buffer.concat(Array<Buffer>(count).fill(message(MESSAGE.newSessionTicket, ...ticket)))),
        alert: (description) => sealData(RECORD.alert, Buffer.of(FATAL, description)),
        keyUpdates: (count) => Buffer.concat(Array.from({ length: count }, () => keyUpdate(sealData))),
      })
      socket.write(
        Buffer.concat([record(RECORD.handshake, serverHello), record(RECORD.changeCipherSpec, Buffer.of(1)), ...flight, ...after]),
      )
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

function inRecords(content: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(content.length / RECORD_BYTES) }, (_, i) =>
    content.subarray(i * RECORD_BYTES, (i + 1) * RECORD_BYTES),
  )
}

/** The session's id, to be said again, and the client's X25519 share. */
function readClientHello(hello: Buffer): { session: Buffer; share: Buffer } {
  const reader = reading(hello.subarray(5 + 4 + 2 + 32))
  const session = reader(1)
  reader(2) // ciphers
  reader(1) // compression
  const extensions = reading(reader(2))
  for (;;) {
    const { type, content } = extensions.typed()
    if (type !== EXTENSION.keyShare) continue
    const shares = reading(reading(content)(2))
    for (;;) {
      const { type: group, content: share } = shares.typed()
      if (group === X25519) return { session, share }
    }
  }
}

/** Takes one vector after the other whose length stands before it in so many bytes. */
function reading(bytes: Buffer) {
  let at = 0
  const take = (lengthBytes: number): Buffer => {
    const start = at + lengthBytes
    at = start + bytes.readUIntBE(at, lengthBytes)
    return bytes.subarray(start, at)
  }
  const typed = (): { type: number; content: Buffer } => {
    const type = bytes.readUInt16BE(at)
    at += 2
    return { type, content: take(2) }
  }
  return Object.assign(take, { typed })
}
