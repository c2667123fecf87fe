import { Lru } from '../lib/lru.ts'

/** A certificate and its key as text (PEM), the certificates that stand behind it in its chain apart: thousands of names have the same ones. */
export type CertificateText = { leafPem: string; issuersPem: string; keyPem: string }

const LEAF_END = '-----END CERTIFICATE-----'
const ISSUERS_MAX = 1_000 // an authority has a few, and replaces them now and then

const issuers = new Lru<string, string>(ISSUERS_MAX)

/** `issuersPem` is one string for all certificates of the same issuers, and neither part holds on to the whole chain. */
export function certificateText({ chainPem, keyPem }: { chainPem: string; keyPem: string }): CertificateText {
  const end = chainPem.indexOf(LEAF_END) + LEAF_END.length
  const hasIssuers = end >= LEAF_END.length && chainPem.includes(LEAF_END, end)
  if (!hasIssuers) return { leafPem: chainPem, issuersPem: '', keyPem }
  return { leafPem: flat(`${chainPem.slice(0, end)}\n`), issuersPem: shared(chainPem.slice(end).trimStart()), keyPem }
}

function shared(issuersPem: string): string {
  const known = issuers.get(issuersPem)
  if (known !== undefined) return known
  const own = flat(issuersPem)
  issuers.set(own, own)
  return own
}

/** A copy with memory of its own: a part of a string is a view of the whole to engines of JavaScript. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
