import type { ResourceRecord } from '../lib/dns-message.ts'
import type { Budget } from './budget.ts'
import { parentOf } from './place.ts'
import type { Resolver } from './resolver.ts'

/** The CAA record set that counts for a hostname; `unknown`: DNS did not say. */
export type CaaRecords = { kind: 'records'; records: readonly ResourceRecord[] } | { kind: 'none' } | { kind: 'unknown' }

/** Who wants to issue what: by which names the authority appears in CAA records, with which of its accounts and by which challenges (RFC 8657). */
export type CaaWish = {
  issuers: readonly string[]
  wildcard?: boolean
  accountUrl?: string | undefined
  challenges?: readonly string[] | undefined
}

type CaaReason = 'issuer' | 'account' | 'method' | 'not-understood'

/**
 * `methods`: the only validation methods that are allowed (RFC 8657 §4); absent, any. `at` is the name that holds the records, `tag` the property that
 * counts, `allowed` the authorities that they name, `found` the records as they stand in a zone file.
 */
export type CaaFinding =
  | { kind: 'allows'; methods?: readonly string[] }
  | {
      kind: 'forbids'
      because: CaaReason
      methods?: readonly string[]
      at: string
      tag: 'issue' | 'issuewild'
      allowed: string[]
      found: string[]
    }
  | { kind: 'unknown' }

type Permission = { issuer: string; parameters: { tag: string; value: string }[] }

const TAGS_UNDERSTOOD = ['issue', 'issuewild', 'iodef', 'contactemail', 'contactphone', 'issuemail', 'issuevmc']

/**
 * Finds the CAA records that count for a hostname, climbing from it to the top-level domain (RFC 8659 §3), and says whether
 * one of our issuers may issue. A hostname that does not exist is climbed over.
 */
export async function findCaa(
  resolver: Resolver,
  hostname: string,
  exists: boolean,
  wish: Omit<CaaWish, 'accountUrl'>,
  budget: Budget,
): Promise<CaaFinding> {
  const found = await lookUpCaa(resolver, exists ? hostname : parentOf(hostname), budget)
  if (found.kind === 'none') return { kind: 'allows' }
  return found.kind === 'unknown' ? found : judgeCaa(found.records, wish)
}

/** The CAA records that count for a name, climbing from it to the top-level domain (RFC 8659 §3). Aliases are followed, as resolvers do. */
export async function lookUpCaa(resolver: Resolver, hostname: string, budget: Budget): Promise<CaaRecords> {
  for (let name = hostname; name !== ''; name = parentOf(name)) {
    const asking = { name, type: 'CAA' } as const
    const reply = await (name === hostname ? resolver.resolve(asking, budget) : resolver.resolveCached(asking, budget))
    if (reply.kind !== 'answer') return { kind: 'unknown' }
    const records = reply.message.answers.filter((record) => record.type === 'CAA')
    if (records.length > 0) return { kind: 'records', records }
  }
  return { kind: 'none' }
}

/**
 * Judges one CAA record set (RFC 8659 §4): one of the issuers must be named, unless nobody is; for a wildcard by `issuewild` where there is
 * one, and lets it validate by one of the challenges. A critical property that we do not understand forbids.
 */
export function judgeCaa(records: readonly ResourceRecord[], { issuers, wildcard = false, accountUrl, challenges }: CaaWish): CaaFinding {
  const tag = tagFor(records, wildcard)
  const permissions = records.filter(({ caa }) => caa?.tag === tag).map(({ value }) => parsePermission(value))
  const ours = permissions.filter(({ issuer }) => issuers.includes(issuer))
  const usable = ours.filter((permission) => permits(permission, accountUrl))
  const forbids = (because: CaaReason, methods?: string[]): CaaFinding => ({
    ...{ kind: 'forbids', because, at: records[0]!.name.toLowerCase(), tag },
    allowed: permissions.map(({ issuer }) => issuer).filter((name) => name !== ''),
    found: records.map(asInZoneFile),
    ...(methods && { methods }),
  })
  if (records.some(({ caa }) => caa?.critical && !TAGS_UNDERSTOOD.includes(caa.tag))) return forbids('not-understood')
  if (permissions.length === 0) return { kind: 'allows' }
  if (ours.length === 0) return forbids('issuer')
  if (usable.length === 0) return forbids('account')
  const methods = usable.map((permission) =>
    parametersOf(permission, 'validationmethods')[0]
      ?.split(',')
      .map((one) => one.trim().toLowerCase()),
  )
  if (methods.includes(undefined)) return { kind: 'allows' }
  const permitted = [...new Set(methods.flatMap((one) => one ?? []))]
  if (challenges && !challenges.some((type) => permitted.includes(type))) return forbids('method', permitted)
  return { kind: 'allows', methods: permitted }
}

/** The property that says who may issue (RFC 8659 §4.3). */
function tagFor(records: readonly ResourceRecord[], wildcard: boolean): 'issue' | 'issuewild' {
  return wildcard && records.some(({ caa }) => caa?.tag === 'issuewild') ? 'issuewild' : 'issue'
}

/** RFC 8659 §4.2. What follows no grammar names no authority that we could be. */
function parsePermission(value: string): Permission {
  const [issuer = '', ...rest] = value.split(';').map((part) => part.trim())
  const parameters = rest
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=')
      return { tag: part.slice(0, Math.max(0, equals)).trim().toLowerCase(), value: part.slice(equals + 1).trim() }
    })
  return { issuer: issuer.toLowerCase(), parameters }
}

/** RFC 8657 §3: two accounts in one record can never both be ours. */
function permits(permission: Permission, accountUrl: string | undefined): boolean {
  const accounts = parametersOf(permission, 'accounturi')
  if (accounts.length > 1 || parametersOf(permission, 'validationmethods').length > 1) return false
  return accounts.length === 0 || accountUrl === undefined || accounts[0] === accountUrl
}

function parametersOf({ parameters }: Permission, tag: string): string[] {
  return parameters.filter((parameter) => parameter.tag === tag).map(({ value }) => value)
}

function asInZoneFile({ value, caa }: ResourceRecord): string {
  return `${caa?.critical ? 128 : 0} ${caa?.tag} "${value}"`
}
