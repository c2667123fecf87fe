import type { SecureContext } from 'node:tls'
import { type CertificateText, sizeOf } from './certificate-text.ts'

/**
 * How the PEM (PKCS #8) of a P-256 key begins, whatever the key. Contexts of other keys are not used again: a certificate of another kind of key
 * stands beside the former one, and clients could be shown either.
 */
const P256_KEY = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg'
const SPARES_MAX = 64

/**
 * TLS contexts that nobody shows any more. One whose certificate and key are exchanged costs a quarter of a new one. What stands behind the
 * certificate in its chain cannot be exchanged, so a spare context serves the same issuer's certificates only. All of them share their settings.
 */
export class SpareContexts {
  readonly #spares: { context: SecureContext; issuersPem: string }[] = []

  /** A context that shows this certificate and no other, if one can be had. Throws when the key is not the certificate's. */
  take(text: CertificateText): SecureContext | undefined {
    if (!isExchangeable(text)) return undefined
    const at = this.#spares.findLastIndex(({ issuersPem }) => issuersPem === text.issuersPem)
    if (at < 0) return undefined
    const { context } = this.#spares.splice(at, 1)[0]!
    try {
      context.context.setCert(text.leafPem)
      context.context.setKey(text.keyPem)
      return context
    } catch (error) {
      close(context)
      throw error
    }
  }

  /** `text`: what it has shown until now, and holds until it is taken. */
  keep(context: SecureContext, text: CertificateText): void {
    if (context.context.setCert && isExchangeable(text) && sizeOf(text).excess === 0)
      this.#spares.push({ context, issuersPem: text.issuersPem })
    else close(context)
    if (this.#spares.length > SPARES_MAX) close(this.#spares.shift()!.context)
  }
}

/** Frees what no handshake will use again; left to the garbage collector, which sees none of its memory, it would stay for long. */
function close(context: SecureContext): void {
  context.context.close?.()
}

function isExchangeable({ keyPem }: CertificateText): boolean {
  return keyPem.startsWith(P256_KEY)
}
