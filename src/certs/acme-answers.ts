import type { HttpAnswer } from './acme-http.ts'
import type { AcmeProblem } from './authority.ts'
import { ownFault, readProblem } from './problem.ts'

const AUTHORIZATIONS_MAX = 10

/** RFC 8555 §7.1.1; `renewalInfo` is RFC 9773 §4.1, `profiles` the names in draft-ietf-acme-profiles' meta. */
export type Directory = {
  newNonce: string
  newAccount: string
  newOrder: string
  renewalInfo?: string
  profiles: string[]
  /** In lower case. */
  caaIdentities?: string[]
}

/** RFC 8555 §7.1.3. */
export type Order = {
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  authorizations: string[]
  finalize: string
  certificate?: string
  expires?: Date
  error?: AcmeProblem
}

/** RFC 8555 §7.1.4. */
export type Authorization = {
  status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked'
  challenges: OfferedChallenge[]
}

/** RFC 8555 §8. */
export type OfferedChallenge = {
  type: string
  url: string
  token: string
  status: 'pending' | 'processing' | 'valid' | 'invalid'
  error?: AcmeProblem
}

const ORDER_STATES = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const
const AUTHORIZATION_STATES = ['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked'] as const
const TOKEN = /^[A-Za-z0-9_-]{1,512}$/ // RFC 8555 §8.1
const CHALLENGE_STATES = ['pending', 'processing', 'valid', 'invalid'] as const

export function readDirectory({ body }: HttpAnswer): Directory {
  const directory = object(body, 'directory')
  const url = (member: string) => readUrl(directory[member], `directory.${member}`)
  return {
    newNonce: url('newNonce'),
    newAccount: url('newAccount'),
    newOrder: url('newOrder'),
    ...(isUrl(directory.renewalInfo) && { renewalInfo: directory.renewalInfo }),
    profiles: readProfiles(directory.meta),
    ...readCaaIdentities(directory.meta),
  }
}

function readCaaIdentities(meta: unknown): Pick<Directory, 'caaIdentities'> {
  const { caaIdentities } = (meta ?? {}) as { caaIdentities?: unknown }
  if (!Array.isArray(caaIdentities)) return {}
  const names = caaIdentities.filter((name) => typeof name === 'string' && name !== '').map((name: string) => name.toLowerCase())
  return names.length > 0 ? { caaIdentities: names } : {}
}

// Optional, as renewalInfo: what cannot be read is not offered, and must not keep ordinary orders from being made.
function readProfiles(meta: unknown): string[] {
  const profiles = (meta as { profiles?: unknown } | null | undefined)?.profiles
  return typeof profiles === 'object' && profiles !== null && !Array.isArray(profiles) ? Object.keys(profiles) : []
}

export function readOrder({ body }: HttpAnswer): Order {
  const order = object(body, 'order')
  const authorizations = list(order.authorizations, 'order.authorizations').map((url) => readUrl(url, 'order.authorizations'))
  if (authorizations.length > AUTHORIZATIONS_MAX) throw malformed(`the order has ${authorizations.length} authorizations for one hostname`)
  return {
    status: state(order.status, ORDER_STATES, 'order.status'),
    authorizations,
    finalize: readUrl(order.finalize, 'order.finalize'),
    ...((order.certificate ?? null) !== null && { certificate: readUrl(order.certificate, 'order.certificate') }),
    ...readExpiry(order.expires),
    error: readProblem(order.error),
  }
}

function readExpiry(expires: unknown): Pick<Order, 'expires'> {
  const date = new Date(typeof expires === 'string' ? expires : Number.NaN)
  return Number.isNaN(date.getTime()) ? {} : { expires: date }
}

export function readAuthorization({ body }: HttpAnswer): Authorization {
  const authorization = object(body, 'authorization')
  return {
    status: state(authorization.status, AUTHORIZATION_STATES, 'authorization.status'),
    challenges: list(authorization.challenges, 'authorization.challenges').map(readChallenge),
  }
}

/** Takes an absolute http(s) URL out of an answer; `where` names it in the complaint. */
export function readUrl(value: unknown, where: string): string {
  if (!isUrl(value)) throw malformed(`${where} is no URL`)
  return value
}

function isUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? '')
}

function readChallenge(value: unknown): OfferedChallenge {
  const { type, url, token, status = 'pending', error } = object(value, 'challenge')
  return {
    type: typeof type === 'string' ? type : '',
    token: typeof token === 'string' && TOKEN.test(token) ? token : '',
    url: readUrl(url, 'challenge.url'),
    status: state(status, CHALLENGE_STATES, 'challenge.status'),
    error: readProblem(error),
  }
}

function object(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(`the ${where} is no JSON object`)
  return value as Record<string, unknown>
}

function list(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw malformed(`${where} is no list`)
  return value
}

function state<S extends string>(value: unknown, known: readonly S[], where: string): S {
  if (!known.includes(value as S)) throw malformed(`${where} is ${JSON.stringify(value)?.slice(0, 40)}`)
  return value as S
}

function malformed(what: string) {
  return ownFault('malformedAnswer', `the certificate authority's answer cannot be used: ${what}`)
}
