import type { SecureContext } from 'node:tls'

/**
 * How the PEM (PKCS #8) of a P-256 key begins, whatever the key. Contexts of other keys are not used again: a certificate of another kind of key
 * stands beside the former one, and clients could be shown either.
 */
const P256_KEY = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg'
const LEAF_END = '-----END CERTIFICATE-----\n'
const SPARES_MAX = 64

/**
 * TLS contexts that nobody shows any more. One whose certificate and key are exchanged costs a quarter of a new one. What stands behind the
 * certificate in its chain cannot be exchanged, so a spare context serves the same issuer's certificates only. All of them share their settings.
 */
export class SpareContexts {
  readonly #spares: { context: SecureContext; issuersPem: string }[] = []

  /** A context that shows this certificate and no other, if one can be had. Throws when the key is not the certificate's. */
  take(chainPem: string, keyPem: string): SecureContext | undefined {
    const parts = exchangeable(chainPem, keyPem)
    const at = parts ? this.#spares.findLastIndex(({ issuersPem }) => issuersPem === parts.issuersPem) : -1
    if (!parts || at < 0) return undefined
    const { context } = this.#spares.splice(at, 1)[0]!
    try {
      context.context.setCert(parts.leafPem)
      context.context.setKey(keyPem)
      return context
    } catch (error) {
      close(context)
      throw error
    }
  }

  /** `chainPem` and `keyPem`: what it has shown until now. */
  keep(context: SecureContext, chainPem: string, keyPem: string): void {
    const parts = context.context.setCert && exchangeable(chainPem, keyPem)
    if (parts) this.#spares.push({ context, issuersPem: parts.issuersPem })
    else close(context)
    if (this.#spares.length > SPARES_MAX) close(this.#spares.shift()!.context)
  }
}

/** Frees what no handshake will use again; left to the garbage collector, which sees none of its memory, it would stay for long. */
function close(context: SecureContext): void {
  context.context.close?.()
}

function exchangeable(chainPem: string, keyPem: string): { leafPem: string; issuersPem: string } | undefined {
  const end = chainPem.indexOf(LEAF_END) + LEAF_END.length
  if (end < LEAF_END.length || !keyPem.startsWith(P256_KEY)) return undefined
  return { leafPem: chainPem.slice(0, end), issuersPem: chainPem.slice(end) }
}
