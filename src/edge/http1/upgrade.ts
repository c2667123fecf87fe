/** Through a tunnel of HTTP, or of HTTP within TLS (RFC 2817), a visitor would send requests that nobody has looked at, alone or in a list with other protocols. */
const HTTP_PROTOCOL = /^(h\dc?|http|tls|ssl)(\/|$)/i

/** Whether a tunnel may be opened for what an Upgrade field asks for; what may not is served as if not asked for (RFC 9110 §7.8). */
export function isProtocolFor(upgrade: string): boolean {
  return !upgrade.split(',').some((protocol) => HTTP_PROTOCOL.test(protocol.trim()))
}
