import 'reflect-metadata'
import { AuthorityKeyIdentifierExtension, X509Certificate } from '@peculiar/x509'
import type { HttpAnswer } from './acme-http.ts'
import type { RenewalInfo } from './authority.ts'
import { type CertificateFacts, fractionOf } from './certificate.ts'
import { ownFault } from './problem.ts'

const RETRY_AFTER_S = { min: 60, max: 86_400, absent: 21_600 }
const LATEST = 5 / 6 // of the lifetime: whatever an authority suggests, as much as this is left for failed attempts
/** Of the lifetime, or so long: an authority that wishes each certificate renewed at once would get orders without end, which no limit counts. */
const EARLIEST = { share: 1 / 4, ms: 6 * 3_600_000 }
const EXPLANATION_CHARACTERS_MAX = 500

/**
 * What names a certificate to its authority (RFC 9773 §4.1): the authority's key identifier and the serial number, as base64url. Undefined
 * for a certificate without the former. Throws when the PEM holds no certificate.
 */
export function certIdOf(chainPem: string): string | undefined {
  const leaf = new X509Certificate(chainPem)
  const { keyId } = leaf.getExtension(AuthorityKeyIdentifierExtension) ?? {}
  if (keyId === undefined) return undefined
  const serial = leaf.serialNumber.length % 2 === 0 ? leaf.serialNumber : `0${leaf.serialNumber}`
  const content = /^[89a-f]/i.test(serial) ? `00${serial}` : serial // a DER integer whose first bit is set would be negative
  return `${base64url(keyId)}.${base64url(content)}`
}

/**
 * Reads an answer of RFC 9773 §4.2; Retry-After is kept between a minute and a day, and six hours when absent. Throws IssueError when there
 * is no window in it, or one that ends before it begins.
 */
export function readRenewalInfo({ body, retryAfterS = RETRY_AFTER_S.absent }: HttpAnswer, host: string): RenewalInfo {
  const { suggestedWindow, explanationURL } = (body ?? {}) as {
    suggestedWindow?: { start?: unknown; end?: unknown }
    explanationURL?: unknown
  }
  const [start, end] = [readDate(suggestedWindow?.start), readDate(suggestedWindow?.end)]
  if (!start || !end || start >= end) throw ownFault('malformedAnswer', `${host} suggests no window for the renewal that can be used`)
  return {
    ...{ kind: 'window', start, end, retryAfterS: Math.min(RETRY_AFTER_S.max, Math.max(RETRY_AFTER_S.min, retryAfterS)) },
    ...(isWebAddress(explanationURL) && { explanationUrl: explanationURL }),
  }
}

/**
 * The moment in the window at which this certificate is renewed: anywhere, evenly, by its serial number, so the same window always gives
 * the same moment. Never later than five sixths of the lifetime, which no suggestion may cost the hostname, nor earlier than six hours after the
 * certificate's beginning.
 */
export function momentIn(
  { start, end }: { start: Date; end: Date },
  { serial, notBefore, notAfter }: Pick<CertificateFacts, 'serial' | 'notBefore' | 'notAfter'>,
): Date {
  const fraction = fractionOf(`${serial} ${start.toISOString()} ${end.toISOString()}`)
  const suggestedMs = start.getTime() + (end.getTime() - start.getTime()) * fraction
  const lifetimeMs = notAfter.getTime() - notBefore.getTime()
  const earliestMs = notBefore.getTime() + Math.min(lifetimeMs * EARLIEST.share, EARLIEST.ms)
  const latestMs = notBefore.getTime() + lifetimeMs * LATEST
  return new Date(Math.round(Math.max(earliestMs, Math.min(suggestedMs, latestMs))))
}

const base64url = (hex: string) => Buffer.from(hex, 'hex').toString('base64url')

// RFC 3339 only: Date.parse takes much else, and reads a time without zone as local.
function readDate(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value)) return undefined
  const date = new Date(value.toUpperCase())
  return Number.isNaN(date.getTime()) ? undefined : date
}

function isWebAddress(value: unknown): value is string {
  return typeof value === 'string' && value.length <= EXPLANATION_CHARACTERS_MAX && /^https?:$/.test(URL.parse(value)?.protocol ?? '')
}
