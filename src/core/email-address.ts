import { ServiceError } from '../errors.ts'

const ADDRESS_BYTES_MAX = 254 // RFC 5321 §4.5.3.1.3, without the angle brackets
const SHAPE = /^[^\s@"<>(),;:\\[\]]+@[^\s@"<>(),;:\\[\]]+\.[^\s@"<>(),;:\\[\].]+$/

/** An e-mail address as it is stored and compared: lower case. Throws `email_invalid`; whether mail arrives there, only mail can tell. */
export function parseEmailAddress(text: string): string {
  const address = text.trim().toLowerCase()
  if (SHAPE.test(address) && !/[\p{Cc}\p{Cs}]/u.test(address) && Buffer.byteLength(address) <= ADDRESS_BYTES_MAX) return address
  throw new ServiceError('email_invalid', 'an e-mail address looks like ada@vendor.com')
}

/** Where its mail arrives, for counting it: most mail servers take what stands behind a plus for the same reader's (RFC 5233). */
export function mailboxOf(address: string): string {
  const [local, domain] = address.split('@') as [string, string]
  return `${local.slice(0, 1)}${local.slice(1).replace(/\+.*/s, '')}@${domain}`
}
