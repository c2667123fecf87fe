import { unmapped } from '../lib/addresses.ts'
import { openBudgetAside } from './budget.ts'
import type { Resolver } from './resolver.ts'
import type { Edge } from './verdict.ts'

/** The addresses that count as the edge's, in canonical form. Those of a family that is missing have never been found out. */
export type OwnAddresses = Map<Family, ReadonlySet<string>>
type Family = 'A' | 'AAAA'

const FAMILIES: readonly Family[] = ['A', 'AAAA']

/** These, and no others. */
export function ownAddresses(addresses: readonly string[]): OwnAddresses {
  return new Map(FAMILIES.map((family) => [family, new Set(addresses.filter((address) => familyOf(address) === family))]))
}

/** What counts as ours before anything has been looked up. */
export function noAddressesYet(): OwnAddresses {
  return new Map()
}

/** Whether an address is the edge's. `unknown`: those of its family have never been found out, so that it may well be. */
export function whoseIs(address: string, { ours }: Pick<Edge, 'ours'>): 'ours' | 'elsewhere' | 'unknown' {
  const known = ours.get(familyOf(address))
  if (!known) return 'unknown'
  return known.has(address) ? 'ours' : 'elsewhere'
}

/**
 * Where the operator has set no addresses, those of the edge host count as ours, since an ALIAS leads to them: looked up once a minute at most. Of a family
 * for which no answer comes, those that were found before; of both, where the edge host is answered to have no address at all.
 */
export async function learnOwnAddresses(edge: Pick<Edge, 'host' | 'isLocal' | 'addresses' | 'ours'>, resolver: Resolver): Promise<void> {
  if (edge.isLocal || edge.addresses.size > 0) return
  const replies = await Promise.all(
    FAMILIES.map(async (type) => ({ type, reply: await resolver.resolveCached({ name: edge.host, type }, openBudgetAside()) })),
  )
  const known = new Map(edge.ours)
  for (const { type, reply } of replies) {
    if (reply.kind !== 'answer') continue
    const records = reply.message.answers.filter((record) => record.type === type)
    known.set(type, new Set(records.map(({ value }) => unmapped(value))))
  }
  if ([...known.values()].every(({ size }) => size === 0)) return
  for (const [family, addresses] of known) edge.ours.set(family, addresses)
}

function familyOf(address: string): Family {
  return address.includes(':') ? 'AAAA' : 'A'
}
