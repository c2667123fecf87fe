import type { Authorities, NameServer } from './authority.ts'
import { type Budget, wasKeptWaiting } from './budget.ts'
import { type Place, parentOf, placeOf } from './place.ts'
import type { Resolver } from './resolver.ts'
import { sampleUnder } from './sample.ts'
import { aliasOf } from './walk.ts'

/** The alias by which the owner of a hostname lets us answer DNS-01 challenges: `name` is to be a CNAME of `value`, which is in lower case. */
export type WantedDelegation = { name: string; value: string }

export type DelegationPlace = { witnesses: readonly NameServer[] }

/** `elsewhere`: there is an alias, of another name. `unknown`: nobody answered, or could be asked. */
export type Delegation = WantedDelegation & { state: 'present' | 'absent' | 'elsewhere' | 'unknown'; sentence: string }

/** What was looked for, and what is there. `at`: where DNAME records lead the name, which is where the record belongs. */
export type FoundDelegation = WantedDelegation & Found
type Found = { at?: string } & ({ state: 'present' | 'absent' | 'unknown' } | { state: 'elsewhere'; target: string })

const HOPS_MAX = 4
const WITNESSES_MAX = 2

/**
 * Looks whether the alias is there. `witnesses` are authoritative servers that have just answered for the hostname: one that knows better than the
 * resolver is believed, since a resolver remembers for up to an hour that there was none.
 */
export async function findDelegation(
  parts: { resolver: Resolver; authorities: Authorities },
  wanted: WantedDelegation & DelegationPlace,
  budget: Budget,
): Promise<FoundDelegation> {
  const { name, value } = wanted
  let found = await follow(parts.resolver, wanted, budget)
  for (const server of wanted.witnesses.slice(0, WITNESSES_MAX)) {
    if (found.state === 'present') break
    const heard = await parts.authorities.ask(server, { name, type: 'CNAME' }, budget)
    if (heard.kind !== 'answer' || !heard.message.authoritative) continue
    const alias = aliasOf(heard.message.answers, name.toLowerCase())
    if (alias?.dname) continue
    const target = alias?.target
    // An alias that leads to ours in several steps is for the resolver to follow.
    if (target?.toLowerCase() === value) found = { state: 'present' }
    else if (found.state !== 'elsewhere') found = target === undefined ? { state: 'absent' } : { state: 'elsewhere', target }
  }
  if (found.state === 'elsewhere' && (await answersBeside(parts.resolver, found.at ?? name, found.target, budget)))
    found = { ...found, state: 'absent' }
  if (found.state !== 'present' && wasKeptWaiting(budget)) found = { state: 'unknown' }
  return { name, value, ...found }
}

/** Whether a random name beside this one has the same alias: it is a wildcard record's then, and there is none of the name's own to change. */
async function answersBeside(resolver: Resolver, name: string, target: string, budget: Budget): Promise<boolean> {
  const sample = sampleUnder(parentOf(name))
  const reply = await resolver.resolve({ name: sample, type: 'CNAME' }, budget)
  return reply.kind === 'answer' && aliasOf(reply.message.answers, sample)?.target.toLowerCase() === target.toLowerCase()
}

async function follow(resolver: Resolver, { name, value }: WantedDelegation, budget: Budget): Promise<Found> {
  let first: string | undefined
  let at = name
  let current = name
  for (let hop = 0; hop < HOPS_MAX; hop++) {
    const reply = await resolver.resolve({ name: current, type: 'CNAME' }, budget)
    if (reply.kind !== 'answer') return { state: 'unknown' }
    const alias = aliasOf(reply.message.answers, current.toLowerCase())
    if (!alias) break
    const { target, dname } = alias
    if (target.toLowerCase() === value) return { state: 'present' }
    if (!dname) first ??= target
    else if (first === undefined) at = target.toLowerCase()
    current = target
  }
  return first === undefined ? { state: 'absent', at } : { state: 'elsewhere', target: first, at }
}

/** `zone`: that of the hostname, where it is known. `required`: nothing else proves control. `byWildcard`: the record that answers for the hostname. */
export function describeDelegation(
  found: FoundDelegation,
  about: { hostname: string; zone: string | undefined; required: boolean; byWildcard: string | undefined },
): Delegation {
  const { name, value, state } = found
  const { hostname, zone, byWildcard } = about
  const sentence = sentenceOf(found, placeOf(found.at ?? name, zone), about.required)
  if (state !== 'absent' || byWildcard === undefined) return { name, value, state, sentence }
  // With a name below it the hostname exists, and no wildcard record answers for it any more (RFC 4592 §2.2.2).
  const own = `, but give ${hostname} a record of its own first: the wildcard record ("${placeOf(byWildcard, zone).label}") no longer answers for it then.`
  return { name, value, state, sentence: `${sentence.slice(0, -1)}${own}` }
}

function sentenceOf(found: FoundDelegation, { label, zone }: Place, required: boolean): string {
  const { name, value } = found
  const purpose = required ? 'To have a certificate for the wildcard' : 'To have the certificate before visitors are sent here'
  switch (found.state) {
    case 'present':
      return `The record ${name} is right: certificates can be issued${required ? '' : ' before visitors are sent here'}.`
    case 'absent':
      return `${purpose}, add a CNAME record named "${label}" in the DNS of ${zone} with the value "${value}".`
    case 'elsewhere':
      return `${purpose}, change the CNAME record named "${label}" in the DNS of ${zone} from "${found.target}" to "${value}".`
    case 'unknown':
      return `Whether the record ${name} is right could not be seen: nothing is to be done now, we look again soon.`
  }
}
