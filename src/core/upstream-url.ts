import { ServiceError } from '../errors.ts'

/** How an upstream can be spoken to: HTTP/1.1, HTTP/2 over TLS, HTTP/2 in plain text. */
export const UPSTREAM_PROTOCOLS = ['http1', 'h2', 'h2c'] as const

export type UpstreamProtocol = (typeof UPSTREAM_PROTOCOLS)[number]

/** The database lets a project's upstream be spoken to only as its address allows; what it says otherwise has this name. */
const PROTOCOL_FITS = 'project_upstream_protocol_fits'
const URL_LENGTH_MAX = 2_048
// Stricter than `new URL`, which mends what is broken (`https:/x`, blanks, backslashes): what is stored is what was written.
const ORIGIN = /^https?:\/\/[^\s/?#@\\]+\/?$/i

/**
 * An upstream is an http(s) origin: scheme, host, port if need be, at most one final slash. Throws `upstream_invalid` for anything else.
 * The text itself is what gets stored and returned.
 */
export function parseUpstreamUrl(text: string): URL {
  if (text.length > URL_LENGTH_MAX) throw invalid(`an upstream URL has at most ${URL_LENGTH_MAX} characters`)
  const url = ORIGIN.test(text) ? URL.parse(text) : null
  if (url && url.hostname !== '' && url.port !== '0') return url
  throw invalid(complaint(text))
}

/** Throws `upstream_invalid` for anything but a protocol. */
export function parseUpstreamProtocol(text: string): UpstreamProtocol {
  const protocol = UPSTREAM_PROTOCOLS.find((known) => known === text)
  if (protocol) return protocol
  throw invalid(`the upstream's protocol is one of ${UPSTREAM_PROTOCOLS.join(', ')}, not ${text}`)
}

/** What comes of writing a project. Throws `upstream_invalid` when its upstream cannot be spoken to as it says. */
export async function withFittingProtocol<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing
  } catch (error) {
    if ((error as { constraint?: string }).constraint !== PROTOCOL_FITS) throw error
    throw invalid('the upstream protocol h2 needs an https URL, and h2c an http URL: change URL and protocol together')
  }
}

function complaint(text: string): string {
  const url = URL.parse(text)
  if (!url) return 'the upstream is a URL such as https://app.vendor.com'
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `the upstream is an http or https URL, not ${url.protocol}`
  if (url.username || url.password) return 'the upstream URL carries no user name or password'
  if (url.pathname !== '/') return `the upstream URL has no path: every request keeps its own (leave out ${url.pathname})`
  if (text.includes('?')) return 'the upstream URL has no query'
  if (text.includes('#')) return 'the upstream URL has no fragment'
  return 'the upstream is an origin such as https://app.vendor.com: scheme, host and, if need be, port'
}

function invalid(message: string): ServiceError {
  return new ServiceError('upstream_invalid', message)
}
