import { Lru } from '../lib/lru.ts'

/** A certificate and its key as text (PEM), the certificates that stand behind it in its chain apart: thousands of names have the same ones. */
export type CertificateText = { leafPem: string; issuersPem: string; keyPem: string }

const BEGIN = '-----BEGIN CERTIFICATE-----'
const LEAF_END = '-----END CERTIFICATE-----'
const ISSUERS_MAX = 1_000 // an authority has a few, and replaces them now and then
const SHARED_MAX = 10_000 // of authorities three certificates, some 6,000 characters
/** Of a certificate in PEM, unless it is for dozens of names: an authority's with an RSA key of 4,096 bits has 2,500 characters. */
const ORDINARY = 3_000

const issuers = new Lru<string, string>(ISSUERS_MAX)

/** `issuersPem` is one string for all certificates of the same issuers, and neither part holds on to the whole chain. */
export function certificateText({ chainPem, keyPem }: { chainPem: string; keyPem: string }): CertificateText {
  const end = chainPem.indexOf(LEAF_END) + LEAF_END.length
  const hasIssuers = end >= LEAF_END.length && chainPem.includes(LEAF_END, end)
  if (!hasIssuers) return { leafPem: chainPem, issuersPem: '', keyPem }
  return { leafPem: flat(`${chainPem.slice(0, end)}\n`), issuersPem: shared(chainPem.slice(end).trimStart()), keyPem }
}

/** How many certificates stand behind the first, and by how many characters all are longer than authorities' own are as a rule. */
export function sizeOf({ leafPem, issuersPem }: CertificateText): { issuers: number; excess: number } {
  const issuers = issuersPem.split(BEGIN).length - 1
  return { issuers, excess: Math.max(0, leafPem.length - ORDINARY) + Math.max(0, issuersPem.length - issuers * ORDINARY) }
}

function shared(issuersPem: string): string {
  if (issuersPem.length > SHARED_MAX) return flat(issuersPem)
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
