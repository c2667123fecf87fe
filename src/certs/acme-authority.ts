import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Hostname } from '../hostname.ts'
import { createAcmeAccount } from './acme-account.ts'
import { obtainChain } from './acme-order.ts'
import { createAcmeSession } from './acme-session.ts'
import { type Authority, HTTP_01, type IssuedCertificate, type IssueOptions } from './authority.ts'
import { readCertificate } from './certificate.ts'
import { createCsr } from './csr.ts'
import { type ExternalAccount, readAccountKey } from './jws.ts'
import { generateCertificateKey, thumbprintOf } from './keys.ts'
import { isAcmeError, ownFault } from './problem.ts'
import { certIdOf, readRenewalInfo } from './renewal-info.ts'

const CHAIN_CERTIFICATES_MAX = 10

export type AcmeSettings = {
  directoryUrl: string
  /** Given to the authority as the account's contact. */
  email?: string
  /** PEM file with a root that is trusted for the directory's own TLS, beside the public ones. */
  caFile?: string
  eab?: ExternalAccount
  /** The profile to order, where the directory offers it. */
  profile?: string
  /** ECDSA P-256, PKCS #8. The same key is the same account, whichever machine uses it. */
  accountKeyPem: string
  now?: () => Date
}

/**
 * An ACME directory (RFC 8555), asked for nothing until the first order; its account is found or made then. Any number of orders may run at
 * once. Throws when the account key is no ECDSA P-256 key.
 */
export function createAcmeAuthority(settings: AcmeSettings): Authority {
  const { directoryUrl, caFile, email, eab, profile, accountKeyPem, now = () => new Date() } = settings
  const key = readAccountKey(accountKeyPem)
  const session = createAcmeSession({ directoryUrl, key, caFile, now })
  const account = createAcmeAccount(session, { key, email, eab })
  const { host } = new URL(directoryUrl)
  const thumbprint = thumbprintOf(accountKeyPem)

  const order = async (
    hostname: Hostname,
    { signal, solver = HTTP_01, keepOrder, resume, ...options }: IssueOptions,
    url: string,
  ): Promise<IssuedCertificate> => {
    const keyPem = resume?.keyPem ?? (await generateCertificateKey())
    const conversation = {
      host,
      signal,
      directory: await session.directory(signal),
      thumbprint,
      post: (to: string, payload?: object, accept?: string) => session.post({ url: to, account: url, payload, accept }, signal),
    }
    const sent = await obtainChain(conversation, {
      ...{ ...options, hostname, csr: await createCsr(keyPem, hostname), solver, profile, resume: resume?.orderUrl },
      keepOrder: keepOrder && (({ url: orderUrl, expires }) => keepOrder({ orderUrl, keyPem, expires })),
    })
    return verifyChain(sent, { hostname, keyPem, host, now: now() })
  }

  return {
    name: directoryUrl,
    thumbprint,
    async issue(hostname, options) {
      const url = await account.url(options.signal)
      try {
        return await order(hostname, options, url)
      } catch (error) {
        if (!isAcmeError(error, 'accountDoesNotExist')) throw error
        account.forget(url)
        return order(hostname, options, await account.url(options.signal))
      }
    },
    caaIdentities: async (signal) => (await session.directory(signal)).caaIdentities,
    accountUrl: (signal) => account.url(signal),
    async renewalInfo(chainPem, signal) {
      const { renewalInfo } = await session.directory(signal)
      const certId = certIdOf(chainPem)
      if (renewalInfo === undefined || certId === undefined) return { kind: 'none' }
      return readRenewalInfo(await session.get(`${renewalInfo.replace(/\/$/, '')}/${certId}`, signal), host)
    },
  }
}

/** Takes nothing on trust: the leaf must be for our key and exactly our hostname, and not yet be over. */
function verifyChain(sent: string, wanted: { hostname: Hostname; keyPem: string; host: string; now: Date }): IssuedCertificate {
  const { hostname, keyPem, host, now } = wanted
  const pems = sent.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const mismatch = (what: string, cause?: unknown) =>
    ownFault('certificateMismatch', `the certificate that ${host} sent for ${hostname} ${what}`, { cause })
  if (pems.length === 0 || pems.length > CHAIN_CERTIFICATES_MAX) throw mismatch(`has ${pems.length} certificates in its chain`)
  const facts = readLeaf()
  if (!new X509Certificate(pems[0]!).checkPrivateKey(createPrivateKey(keyPem))) throw mismatch('is for another key')
  if (facts.names.length !== 1 || facts.names[0] !== hostname) throw mismatch(`is for ${facts.names.join(', ') || 'no name'}`)
  if (facts.notAfter <= now) throw mismatch(`ended on ${facts.notAfter.toISOString()}`)
  const { issuer, serial, notBefore, notAfter } = facts
  return { chainPem: `${pems.join('\n')}\n`, keyPem, issuer, serial, notBefore, notAfter }

  function readLeaf() {
    try {
      return pems.map(readCertificate)[0]!
    } catch (cause) {
      throw mismatch('cannot be read', cause)
    }
  }
}
