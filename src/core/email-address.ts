import { domainToASCII, domainToUnicode } from 'node:url'
import { ServiceError } from '../errors.ts'

const ADDRESS_BYTES_MAX = 254 // RFC 5321 §4.5.3.1.3, without the angle brackets
const SHAPE = /^[^\s@"<>(),;:\\[\]]+@[^\s@"<>(),;:\\[\]]+\.[^\s@"<>(),;:\\[\].]+$/
const EXAMPLE = 'an e-mail address looks like ada@vendor.com'

/**
 * An e-mail address as it is stored and compared: lower case, and its domain as the DNS has it, also where it was typed in the letters of its owner: of
 * one address some browsers send the one, some the other. Throws `email_invalid`; whether mail arrives there, only mail can tell.
 */
export function parseEmailAddress(text: string): string {
  const address = text.trim().toLowerCase()
  const stored = asStored(address)
  if (!SHAPE.test(address) || /[\p{Cc}\p{Cs}]/u.test(address) || Buffer.byteLength(stored) > ADDRESS_BYTES_MAX) throw invalid(EXAMPLE)
  const [local, domain] = parts(address)
  if (/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(local)) throw invalid('an e-mail address has no invisible characters: type it anew')
  const ascii = domainToASCII(domain)
  const unicode = domainToUnicode(ascii)
  if (domain === ascii || domain === unicode) return stored
  throw invalid(/^\p{ASCII}*$/u.test(domain) || unicode === '' ? EXAMPLE : `write the domain of this e-mail address as ${unicode}`)
}

/** What an earlier version took for an address, with its domain as the DNS has it; as it is where that can have no such name. */
export function asStored(address: string): string {
  const [local, domain] = parts(address)
  return `${local}@${domainToASCII(domain) || domain}`
}

/**
 * Where the mail of a parsed address arrives, for counting it: most mail servers take what stands behind a plus for the same reader's (RFC 5233), and
 * some take letters of other widths or compositions for the plain ones.
 */
export function mailboxOf(address: string): string {
  const [typed, domain] = parts(address)
  const local = typed.normalize('NFKC').toLowerCase()
  return `${local.slice(0, 1)}${local.slice(1).replace(/\+.*/s, '')}@${domain}`
}

function parts(address: string): [local: string, domain: string] {
  const at = address.lastIndexOf('@')
  return [address.slice(0, at), address.slice(at + 1)]
}

function invalid(message: string): ServiceError {
  return new ServiceError('email_invalid', message)
}
