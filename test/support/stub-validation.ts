import 'reflect-metadata'
import { createHash } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { SubjectAlternativeNameExtension, X509Certificate } from '@peculiar/x509'
import type { ChallengeType } from '../../src/certs/authority.ts'

const TIMEOUT_MS = 5_000
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'
const ALTERNATIVE_NAMES = '2.5.29.17'

/** Where the stub finds what it validates: ports of 127.0.0.1, and a DNS server `ip:port`. What is absent always succeeds. */
export type StubReach = { httpPort?: number | undefined; tlsPort?: number | undefined; dnsServer?: string | undefined }

export type StubProof = { hostname: string; token: string; keyAuthorization: string }

/** Whether the challenge is met, found out as a public authority does. */
export async function validateChallenge(
  type: ChallengeType,
  proof: StubProof,
  { httpPort, tlsPort, dnsServer }: StubReach,
): Promise<boolean> {
  switch (type) {
    case 'http-01':
      return httpPort === undefined || (await fetchChallenge(httpPort, proof)) === proof.keyAuthorization
    case 'tls-alpn-01':
      return tlsPort === undefined || (await proves(tlsPort, proof))
    case 'dns-01':
      return dnsServer === undefined || (await readTxt(dnsServer, proof)).includes(digestOf(proof).toString('base64url'))
  }
}

function digestOf({ keyAuthorization }: StubProof): Buffer {
  return createHash('sha256').update(keyAuthorization).digest()
}

function fetchChallenge(port: number, { hostname, token }: StubProof): Promise<string | undefined> {
  const path = `/.well-known/acme-challenge/${token}`
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path, headers: { host: hostname }, agent: false, signal }, (response) => {
      text(response).then(
        (body) => resolve(response.statusCode === 200 ? body.trim() : undefined),
        () => resolve(undefined),
      )
    }).on('error', () => resolve(undefined))
  })
}

/** RFC 8737 §3: the protocol is agreed on, and the certificate is for this name alone, with the digest in a critical extension. */
function proves(port: number, proof: StubProof): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({
      host: '127.0.0.1',
      port,
      servername: proof.hostname,
      ALPNProtocols: ['acme-tls/1'],
      rejectUnauthorized: false,
    })
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('too slow')))
    socket.once('error', () => resolve(false))
    socket.once('secureConnect', () => {
      const raw = socket.getPeerX509Certificate()?.raw
      resolve(socket.alpnProtocol === 'acme-tls/1' && raw !== undefined && identifies(new X509Certificate(raw), proof))
      socket.destroy()
    })
  })
}

function identifies(certificate: X509Certificate, proof: StubProof): boolean {
  const names = certificate.getExtension(ALTERNATIVE_NAMES)
  const identifier = certificate.getExtension(ACME_IDENTIFIER)
  if (!names || !identifier?.critical) return false
  const items = new SubjectAlternativeNameExtension(names.rawData).names.items
  const octets = Buffer.concat([Buffer.from([0x04, 0x20]), digestOf(proof)]) // an OCTET STRING of 32 bytes
  return items.length === 1 && items[0]!.value === proof.hostname && Buffer.from(identifier.value).equals(octets)
}

async function readTxt(server: string, { hostname }: StubProof): Promise<string[]> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS / 2, tries: 2 })
  resolver.setServers([server])
  const records = await resolver.resolveTxt(`_acme-challenge.${hostname.replace(/^\*\./, '')}`).catch(() => [])
  return records.map((parts) => parts.join(''))
}
