import type { ReadRequest } from './llhttp.ts'

/** By whom a request went from the edge to the application: nobody else, or nginx. */
export type Way = 'node' | 'nginx'

/** Said here once more, and not taken from src/: a test that shares the code's list shares its gaps. */
const OF_THE_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'content-length',
  'host',
  'proxy',
]
const SAID_BY_US = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-request-id', 'cdn-loop']
const OF_TRUSTED_PROXIES = [
  ...['x-real-ip', 'x-forwarded-port', 'forwarded', 'x-forwarded-ssl', 'x-forwarded-scheme', 'x-forwarded-server', 'x-forwarded-prefix'],
  ...['x-url-scheme', 'front-end-https', 'client-ip', 'x-client-ip', 'x-cluster-client-ip', 'true-client-ip', 'x-original-url'],
  'x-rewrite-url',
]
const NEVER_PASSED = new Set([...OF_THE_HOP, ...SAID_BY_US, ...OF_TRUSTED_PROXIES])

/** What arrived otherwise than it was sent on a connection for `hostname`; undefined when it is the same request. */
export function differenceOfRequests(
  sent: ReadRequest,
  arrived: ReadRequest,
  { way, hostname }: { way: Way; hostname: string },
): string | undefined {
  if (arrived.method !== sent.method) return `method ${arrived.method} for ${sent.method}`
  const target = originForm(sent)
  if (arrived.target !== target) return `target ${arrived.target} for ${target}`
  if (arrived.body !== sent.body) return `body ${JSON.stringify(arrived.body)} for ${JSON.stringify(sent.body)}`
  const host = hostOf(sent) ?? hostname
  if (hostOf(arrived) !== host) return `host ${hostOf(arrived)} for ${host}`
  const sentFields = endToEnd(sent)
  const arrivedFields = endToEnd(arrived)
  if (arrivedFields.join('\n') !== sentFields.join('\n')) return `fields ${JSON.stringify(arrivedFields)} for ${JSON.stringify(sentFields)}`
  return way === 'node' ? differenceOfTrailers(sent, arrived) : undefined // nginx passes no trailers
}

/** The target as an application gets it: of an absolute form the part behind the authority. */
export function originForm({ method, target }: ReadRequest): string {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)
  if (!absolute) return target
  if (absolute[1] === '' && method === 'OPTIONS') return '*'
  return absolute[1]!.startsWith('/') ? absolute[1]! : `/${absolute[1]}`
}

/** The trailers that are not of the hop on which they came. */
export function trailersBeyondHop({ fields, trailers }: ReadRequest): string[] {
  const named = namedInConnection(fields)
  return pairs(trailers)
    .filter(([name]) => !named.has(name.toLowerCase()))
    .flat()
}

function endToEnd({ fields }: ReadRequest): string[] {
  const named = namedInConnection(fields)
  return pairs(fields)
    .filter(([name]) => {
      const lower = name.toLowerCase()
      return !NEVER_PASSED.has(lower) && !NEVER_PASSED.has(lower.replaceAll('_', '-')) && !named.has(lower)
    })
    .map(([name, value]) => `${name}: ${value}`)
}

function namedInConnection(fields: readonly string[]): Set<string> {
  const named = new Set(valuesOf(fields, 'connection').flatMap((value) => value.split(',').map((member) => member.trim().toLowerCase())))
  named.delete('close')
  named.delete('keep-alive')
  return named
}

/** Some trailers are left out; none is made up, and none that could deceive, or was for us alone, gets through. */
function differenceOfTrailers(sent: ReadRequest, arrived: ReadRequest): string | undefined {
  const said = pairs(trailersBeyondHop(sent)).map((pair) => pair.join(': '))
  for (const [name, value] of pairs(arrived.trailers)) {
    if (NEVER_PASSED.has(name.toLowerCase().replaceAll('_', '-'))) return `the trailer ${name}`
    if (!said.includes(`${name}: ${value}`)) return `the trailer ${name}: ${value}, which nobody sent us to pass on`
  }
  return undefined
}

/** Whom the request is for: over HTTP/1.0 nobody has to say Host. */
export function hostOf({ fields, target }: ReadRequest): string | undefined {
  return valuesOf(fields, 'host')[0] ?? /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]
}

function valuesOf(fields: readonly string[], name: string): string[] {
  return pairs(fields).flatMap(([each, value]) => (each.toLowerCase() === name ? [value] : []))
}

function pairs(fields: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i]!, fields[2 * i + 1]!])
}
