import { ServiceError } from '../errors.ts'

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
