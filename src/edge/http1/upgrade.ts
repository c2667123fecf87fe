import { isToken, membersOf } from '../fields.ts'

/** Through a tunnel of HTTP, or of HTTP within TLS (RFC 2817), a visitor would send requests that nobody has looked at, alone or in a list with other protocols. */
const HTTP_PROTOCOL = /^(h\dc?|http|tls|ssl)(\/|$)/

/** Whether a tunnel may be opened for what an Upgrade field asks for; what may not is served as if not asked for (RFC 9110 §7.8). */
export function isProtocolFor(upgrade: string): boolean {
  const protocols = membersOf(upgrade)
  return protocols.length > 0 && protocols.every((protocol) => isProtocol(protocol) && !HTTP_PROTOCOL.test(protocol))
}

/** A name, and perhaps a version (RFC 9110 §7.8). What is written otherwise servers read each in their own way: some leave out its spaces. */
function isProtocol(text: string): boolean {
  const parts = text.split('/')
  return parts.length <= 2 && parts.every(isToken)
}
