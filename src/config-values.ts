import { readFileSync } from 'node:fs'
import { isIP, isIPv4 } from 'node:net'
import { type Hostname, readHostname } from './hostname.ts'
import { createAddressSet, isSpecialAddress } from './lib/addresses.ts'
import { readPostgresUrl } from './lib/postgres-url.ts'

/** A listen address; `host` is always an IP address. */
export type Address = { host: string; port: number }

/** The account binding that an authority demands (RFC 8555 §7.3.4): key id and base64url HMAC key. */
export type EabKey = { kid: string; hmac: string }

// Each function reads the text of one setting and throws a plain Error whose message completes "NAMESAKE_X …", for the operator.

export function parseAddress(text: string): Address {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text)
  const named = parts?.[1] ?? parts?.[2]
  const host = named === 'localhost' ? '127.0.0.1' : named
  if (host === undefined || isIP(host) === 0) throw new Error('is not a listen address: write an IP address, a colon and a port')
  return { host, port: portBehind(parts![3]!) }
}

/** Whether nobody can listen on both: 0.0.0.0 is every IPv4 address of the machine, and :: is every address. */
export function meet(one: Address, other: Address): boolean {
  const covers = ({ host }: Address, { host: inside }: Address) =>
    host === inside || host === '::' || (host === '0.0.0.0' && isIPv4(inside))
  return one.port === other.port && (covers(one, other) || covers(other, one))
}

/** `host`, `host:port` or `[ip]:port`, of a machine by address or name; comes back with a port. */
export function parseReachableAddress(portElse: number): (text: string) => string {
  return (text) => {
    if (isIP(text) === 6) return `[${text}]:${portElse}`
    const parts = /^(\[[^\]]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?$/.exec(text)
    const named = parts?.[1]
    if (!named || (named.startsWith('[') && isIP(named.slice(1, -1)) !== 6))
      throw new Error('is not an address: write a host, a colon and a port')
    return `${named}:${parts[2] === undefined ? portElse : portBehind(parts[2])}`
  }
}

/** What people call a machine. */
export function parseMachineName(text: string): string {
  if (!/^[\w.-]{1,63}$/.test(text)) throw new Error('is not a name: letters, digits, dots, dashes and underscores, 63 at most')
  return text
}

export function parsePort(text: string): number {
  return parseInteger(1, 65_535)(text)
}

/** The port of an address: alone, the complaint would seem to be of all of it. */
function portBehind(text: string): number {
  try {
    return parsePort(text)
  } catch (error) {
    throw new Error(`has the port ${text}, which ${(error as Error).message}`)
  }
}

export function parseInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= min && number <= max)) throw new Error(`is not a whole number from ${min} to ${max}`)
    return number
  }
}

export function parseFraction(text: string): number {
  const number = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(number <= 1)) throw new Error('is not a number from 0 to 1')
  return number
}

export function parseBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Error('is neither true nor false')
  return text === 'true'
}

export function parseChoice<T extends string>(...choices: T[]): (text: string) => T {
  return (text) => {
    const chosen = choices.find((choice) => choice === text)
    if (!chosen) throw new Error(`is none of ${choices.join(', ')}`)
    return chosen
  }
}

export function parseHost(text: string): Hostname {
  const reading = readHostname(text)
  if (reading.kind === 'invalid') throw new Error(`is not a hostname: ${reading.reason}`)
  return reading.hostname
}

/** An http(s) address without path, query and credentials. */
export function parseOrigin(text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') throw new Error('is not an http or https address')
  if (url.username || url.password) throw new Error('carries a user name or password')
  if (url.pathname !== '/' || url.search || url.hash) throw new Error('has a path, query or fragment: give scheme, host and port alone')
  return url
}

/** Where the service reads and writes: several hosts are sought for the one that accepts writes. */
export function parseDatabaseUrl(text: string): string {
  const { need } = readPostgresUrl(text)
  if (need === 'standby' || need === 'prefer-standby' || need === 'read-only')
    throw new Error(`has target_session_attrs=${need}: Namesake writes there, so it has to be read-write`)
  return text
}

/** Where followers may read: a standby, or several, or the primary again. */
export function parseFeedUrl(text: string): string {
  readPostgresUrl(text)
  return text
}

/** Where a database is, for a message: its hosts and ports, or the folder of its Unix socket. */
export function databaseHost(databaseUrl: string): string {
  return readPostgresUrl(databaseUrl)
    .hosts.map(({ host, port }) =>
      host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}${port === 5432 ? '' : `:${port}`}`,
    )
    .join(', ')
}

export function parseSmtpUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new Error('is not a mail server: it begins with smtp:// or smtps://')
  return text
}

export function parseMailAddress(text: string): string {
  const address = /<([^<>]+)>$/.exec(text)?.[1] ?? text
  if (!/^[^\s@<>,]+@[^\s@<>,]+$/.test(address)) throw new Error('is not one mail address')
  return text
}

/** The name of an ACME profile, as directories list them. */
export function parseProfile(text: string): string {
  if (!/^[\w.-]{1,64}$/.test(text)) throw new Error('is not the name of one ACME profile')
  return text
}

export function parseIpAddress(text: string): string {
  if (isIP(text) === 0) throw new Error(`holds "${text}", which is not an IP address`)
  return text
}

export function parseCidr(text: string): string {
  try {
    createAddressSet([text])
  } catch {
    throw new Error(`holds "${text}", which is neither an IP address nor a block such as 10.0.0.0/8`)
  }
  return text
}

/** `ip`, `ip:port` or `[ip]:port`. */
export function parseDnsServer(text: string): string {
  if (isIP(text) !== 0) return text
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text)
  const port = Number(parts?.[3] ?? 53)
  if (isIP(parts?.[1] ?? parts?.[2] ?? '') === 0 || port < 1 || port > 65_535)
    throw new Error(`holds "${text}", which is not ip or ip:port`)
  return text
}

/** `local`, or an https URL. */
export function parseAcmeDirectory(text: string): string {
  if (text === 'local') return text
  const url = URL.parse(text)
  if (url?.protocol !== 'https:') throw new Error(`holds "${text}", which is neither local nor an https URL`)
  return text
}

/** `kid:hmac`, or `-` for a directory that needs none. */
export function parseEab(text: string): EabKey | null {
  if (text === '-') return null
  const parts = /^(.+):([A-Za-z0-9_-]+=*)$/.exec(text)
  if (!parts) throw new Error('holds an entry that is neither kid:hmac (the key in base64url) nor -')
  return { kid: parts[1]!, hmac: parts[2]! }
}

export function parsePlans(text: string): ReadonlyMap<string, number> {
  const plans = new Map<string, number>()
  for (const entry of splitList(text)) {
    const parts = /^([a-z0-9](?:-?[a-z0-9])*):(\d{1,9})$/.exec(entry)
    if (!parts) throw new Error(`holds "${entry}", which is not name:domains`)
    if (plans.has(parts[1]!)) throw new Error(`names the plan ${parts[1]} twice`)
    plans.set(parts[1]!, Number(parts[2]))
  }
  if (plans.size === 0) throw new Error('names no plan')
  return plans
}

const COPY_HOSTNAMES_MIN = 100
const COPY_HOSTNAMES_MAX = 1_000_000_000
const SECRET_BYTES_MIN = 32

export function parseSecret(text: string): string {
  const bytes = Buffer.byteLength(text)
  if (bytes < SECRET_BYTES_MIN) throw new Error(`is too short: each secret has at least ${SECRET_BYTES_MIN} bytes, this one has ${bytes}`)
  return text
}

/** 0 for all, else enough for the service's own hosts and some more. */
export function parseCopyBound(text: string): number {
  const bound = parseInteger(0, COPY_HOSTNAMES_MAX)(text)
  if (bound > 0 && bound < COPY_HOSTNAMES_MIN) throw new Error(`must be 0, for all, or at least ${COPY_HOSTNAMES_MIN}`)
  return bound
}

export function parseList<T>(parseEntry: (text: string) => T): (text: string) => T[] {
  return (text) => splitList(text).map(parseEntry)
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/** Whether an ACME directory is one that issues for public names only. */
export function isPublicDirectory(directory: string): boolean {
  if (directory === 'local') return false
  const host = new URL(directory).hostname
  if (/^(\[.*\]|[\d.]+)$/.test(host)) return !isSpecialAddress(host)
  return host.includes('.') && !/\.(localhost|test|internal|local|example|invalid)$/.test(host)
}

/** The path of a file that can be read. */
export function parseReadableFile(path: string): string {
  try {
    readFileSync(path)
  } catch (error) {
    throw new Error(`cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  return path
}
