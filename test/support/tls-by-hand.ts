import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Target } from './raw-visitor.ts'
import { type Sealing, sealing, sealing12 } from './tls-records.ts'

/** Where the random number of a ServerHello stands that is the first of a server's bytes. */
const SERVER_RANDOM = [11, 43] as const

/** A connection whose handshake was node's, and what is said behind it is made by hand. Node still reads the answers, as long as `tls` is not paused. */
export type ByHand = { seal: Sealing; wire: Socket; tls: TLSSocket }

/** Connects with AES-128-GCM; nothing has been said behind the handshake. */
export async function openByHand({ port, hostname, ca, more }: Target, version: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3'): Promise<ByHand> {
  const wire = connectTcp(port, '127.0.0.1').on('error', () => {})
  await once(wire, 'connect')
  let first: Buffer | undefined
  const between = new Duplex({
    read: () => void wire.resume(),
    write: (chunk, _, done) => void wire.write(chunk, () => done()),
    final: (done) => void wire.end(() => done()),
  })
  wire.on('data', (bytes) => {
    first ??= bytes
    if (!between.push(bytes)) wire.pause()
  })
  wire.once('close', () => between.destroy())
  const tls = connectTls({
    socket: between,
    servername: hostname ?? '',
    ca,
    ALPNProtocols: ['http/1.1'],
    minVersion: version,
    maxVersion: version,
    ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256',
    ...more,
  }).on('error', () => {})
  const secrets = new Map<string, Buffer[]>()
  tls.on('keylog', (line) => {
    const [label, ...numbers] = line.toString('latin1').trim().split(' ')
    secrets.set(
      label!,
      numbers.map((number) => Buffer.from(number, 'hex')),
    ) // the client's random number, and the secret
  })
  await once(tls, 'secureConnect')
  const [random, master] = secrets.get('CLIENT_RANDOM') ?? []
  const seal =
    version === 'TLSv1.3'
      ? sealing(secrets.get('CLIENT_TRAFFIC_SECRET_0')![1]!)
      : sealing12(master!, random!, first!.subarray(...SERVER_RANDOM))
  return { seal, wire, tls }
}
