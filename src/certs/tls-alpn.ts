import 'reflect-metadata'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Extension, SubjectAlternativeNameExtension, X509Certificate, X509CertificateGenerator } from '@peculiar/x509'
import type { Hostname } from '../hostname.ts'
import { explainConnection } from '../lib/connection-trouble.ts'
import { contextForStrangers } from '../lib/stranger-context.ts'
import { lookThroughTls } from '../lib/tls-look.ts'
import { SIGNING, toKeyPair } from './key-pair.ts'
import { generateCertificateKey } from './keys.ts'
import { ADDRESSES_MAX, judgeLooks, LOOK_TIMEOUT_MS, type Look, type SelfCheck } from './self-check.ts'

/** The application protocol of a TLS-ALPN-01 validation (RFC 8737 §4). */
const ACME_TLS = 'acme-tls/1'
/** id-pe-acmeIdentifier (RFC 8737 §6.1). */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'
const OCTET_STRING_OF_32_BYTES = Buffer.from([4, 32])
const VALID_BEFORE_MS = 3_600_000 // for an authority whose clock is behind
const VALID_AFTER_MS = 24 * 3_600_000
const ADVICE = 'The hostname must lead to our servers, without anything in between that ends TLS.'

export type ChallengeCertificate = { certPem: string; keyPem: string }

/** The self-signed certificate that answers a TLS-ALPN-01 challenge (RFC 8737 §3), with a new key; both PEM. */
export async function createChallengeCertificate(
  hostname: Hostname,
  keyAuthorization: string,
  now = new Date(),
): Promise<ChallengeCertificate> {
  const keyPem = await generateCertificateKey()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    notBefore: new Date(now.getTime() - VALID_BEFORE_MS),
    notAfter: new Date(now.getTime() + VALID_AFTER_MS),
    keys: await toKeyPair(keyPem),
    signingAlgorithm: SIGNING,
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }], true), // critical, as the subject is empty (RFC 5280 §4.2.1.6)
      new Extension(ACME_IDENTIFIER, true, identifierOf(keyAuthorization)),
    ],
  })
  return { certPem: `${certificate.toString('pem')}\n`, keyPem }
}

/** `expected` is the key authorization whose certificate is to be shown. */
export type TlsAlpnTarget = { hostname: Hostname; addresses: readonly string[]; port: number; expected: string }

/**
 * Validates a TLS-ALPN-01 challenge at the hostname's addresses as an authority would, before one is asked to. Any address that shows
 * another certificate, or refuses the protocol, decides; else any that is ours. 3 seconds at most.
 */
export async function selfCheckTlsAlpn(target: TlsAlpnTarget): Promise<SelfCheck> {
  const looks = await Promise.all(target.addresses.slice(0, ADDRESSES_MAX).map((address) => lookAt(address, target)))
  return judgeLooks(looks, target.hostname, ADVICE)
}

function lookAt(address: string, { hostname, port, expected }: TlsAlpnTarget): Promise<Look> {
  const where = `https://${hostname}/ (port ${port} of ${address})`
  return new Promise((resolve) => {
    const settle = (look: Look) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(look)
    }
    const silent = () => settle({ kind: 'no-connection', sentence: `${where}: no answer within ${LOOK_TIMEOUT_MS / 1_000} seconds` })
    const timer = setTimeout(silent, LOOK_TIMEOUT_MS)
    const socket = connect({ host: address, port })
    const fail = (error: NodeJS.ErrnoException) => settle(explain(error, where, socket.bytesRead > 0))
    socket.on('error', fail)
    socket.once('connect', () => {
      const secure = lookThroughTls({
        socket,
        servername: hostname,
        ALPNProtocols: [ACME_TLS],
        secureContext: contextForStrangers({ minVersion: 'TLSv1.2' }),
        rejectUnauthorized: false, // whose certificate it is stands in its extension
      })
      secure.on('error', fail)
      secure.once('secureConnect', () => {
        const fault = faultOf(secure, hostname, expected)
        settle(fault === undefined ? { kind: 'ours' } : { kind: 'other', sentence: `${where} is answered by another server: ${fault}` })
      })
    })
  })
}

function faultOf(socket: TLSSocket, hostname: Hostname, expected: string): string | undefined {
  if (socket.alpnProtocol !== ACME_TLS) return 'it does not take part in TLS-ALPN-01'
  const shown = socket.getPeerX509Certificate()
  return shown && answers(shown.raw, hostname, expected) ? undefined : 'it shows the certificate of another challenge'
}

function answers(der: Buffer, hostname: Hostname, expected: string): boolean {
  try {
    const certificate = new X509Certificate(der)
    const names = certificate.getExtension(SubjectAlternativeNameExtension)?.names.toJSON() ?? []
    const identifier = certificate.getExtension(ACME_IDENTIFIER)
    return (
      names.length === 1 &&
      names[0]!.type === 'dns' &&
      names[0]!.value.toLowerCase() === hostname &&
      identifier?.critical === true &&
      identifierOf(expected).equals(Buffer.from(identifier.value))
    )
  } catch {
    return false // what cannot be read is not ours
  }
}

/** An alert, bytes that are no TLS, or an early end come from somebody; everything else says that nobody was there. */
function explain(error: NodeJS.ErrnoException, where: string, spoke: boolean): Look {
  const other = (what: string): Look => ({ kind: 'other', sentence: `${where} is answered by another server: ${what}` })
  if (/ALERT_(NO_APPLICATION_PROTOCOL|HANDSHAKE_FAILURE|UNRECOGNIZED_NAME)/.test(error.code ?? '')) return other('it refuses TLS-ALPN-01')
  if (error.code?.startsWith('ERR_SSL_')) return other(/ALERT/.test(error.code) ? 'it refuses the TLS handshake' : 'it does not speak TLS')
  if (spoke) return other('it ends the TLS handshake')
  return { kind: 'no-connection', sentence: `${where}: ${explainConnection(error)}` }
}

function identifierOf(keyAuthorization: string): Buffer {
  return Buffer.concat([OCTET_STRING_OF_32_BYTES, createHash('sha256').update(keyAuthorization).digest()])
}
