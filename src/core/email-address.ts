import { domainToASCII, domainToUnicode } from 'node:url'
import { ServiceError } from '../errors.ts'

const ADDRESS_BYTES_MAX = 254 // RFC 5321 §4.5.3.1.3, without the angle brackets
const SHAPE = /^[^\s@"<>(),;:\\[\]]+@[^\s@"<>(),;:\\[\]]+\.[^\s@"<>(),;:\\[\].]+$/
const EXAMPLE = 'an e-mail address looks like ada@vendor.com'

/**
 * An e-mail address as it is stored and compared: lower case, and its domain as the DNS has it or in the letters of its owner, since mail goes to the
 * same domain however it is spelled. Throws `email_invalid`; whether mail arrives there, only mail can tell.
 */
export function parseEmailAddress(text: string): string {
  const address = text.trim().toLowerCase()
  if (!SHAPE.test(address) || /[\p{Cc}\p{Cs}]/u.test(address) || Buffer.byteLength(address) > ADDRESS_BYTES_MAX) throw invalid(EXAMPLE)
  const [local, domain] = parts(address)
  if (/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(local)) throw invalid('an e-mail address has no invisible characters: type it anew')
  const ascii = domainToASCII(domain)
  const unicode = domainToUnicode(ascii)
  if (domain === ascii || domain === unicode) return address
  throw invalid(/^\p{ASCII}*$/u.test(domain) || unicode === '' ? EXAMPLE : `write the domain of this e-mail address as ${unicode}`)
}

/** The address with its domain as the DNS has it, for counting: two spellings of a domain are one address. */
export function asMailed(address: string): string {
  const [local, domain] = parts(address)
  return `${local}@${domainToASCII(domain)}`
}

/**
 * Where its mail arrives, for counting it: most mail servers take what stands behind a plus for the same reader's (RFC 5233), and some take letters
 * of other widths or compositions for the plain ones.
 */
export function mailboxOf(address: string): string {
  const [typed, domain] = parts(asMailed(address))
  const local = typed.normalize('NFKC').toLowerCase()
  return `${local.slice(0, 1)}${local.slice(1).replace(/\+.*/s, '')}@${domain}`
}

function parts(address: string): [local: string, domain: string] {
  return address.split('@') as [string, string]
}

function invalid(message: string): ServiceError {
  return new ServiceError('email_invalid', message)
}
