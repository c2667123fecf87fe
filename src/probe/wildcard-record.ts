import type { RecordType } from '../lib/dns-message.ts'
import { parentOf, placeOf } from './place.ts'
import type { Reply } from './resolver.ts'
import { sampleUnder } from './sample.ts'
import type { View } from './verdict.ts'
import { type AskName, aliasOf, behindDnames, type Hop } from './walk.ts'

/**
 * `own`: the name has the record itself, or is its zone. `unknown`: nobody said. A wildcard record answers for all names in `domain`, which may have been led
 * to it by DNAME records.
 */
export type RecordSource = { kind: 'wildcard'; name: string; domain: string } | { kind: 'own' } | { kind: 'unknown' }

/** Nothing exists below it (RFC 6761 §6.4). */
const NO_DOMAIN = 'invalid'
const DNAMES_MAX = 4

/**
 * Whether a name in lower case has itself what was seen there, or a wildcard record (`*.customer.com`) gave it. That is told by two random names, one
 * beside the name and one below it. Who answers alike for names that cannot exist has no wildcard record, but an answer for everything.
 */
export async function findWildcardRecord(name: string, seen: View, knownZone: string | undefined, ask: AskName): Promise<RecordSource> {
  const { label, zone } = placeOf(name, knownZone)
  if (label === '@') return { kind: 'own' }
  const { type, step: own } = stepOf(name, seen)
  const look = async (at: string) => ({ at, reply: await ask({ name: at, type }) })
  const hasThat = ({ at, reply }: { at: string; reply: Reply }) => firstStep(reply, at, type) === own
  const haveThat = async (...names: string[]) => (await Promise.all(names.map(look))).every(hasThat)
  // A wildcard record answers beside the name, and below it only while the name has no record of its own (RFC 4592 §2.2.1).
  let above = parentOf(name)
  const samples = await Promise.all([sampleUnder(above), sampleUnder(name)].map(look))
  if (samples.some((sample) => sample.reply.kind === 'answer' && !hasThat(sample))) return { kind: 'own' }
  if (!samples.every(hasThat)) return { kind: 'unknown' }
  if (await haveThat(sampleUnder(NO_DOMAIN))) return { kind: 'own' }
  // It answers over several labels where the name between them does not exist.
  while (above !== zone && (await haveThat(above, sampleUnder(parentOf(above))))) above = parentOf(above)
  const there = behindDnames(name, hopsFrom(name, seen)).slice(name.length - above.length)
  return { kind: 'wildcard', name: `*.${there}`, domain: above }
}

/** The wildcard record's name, where it is one's. */
export function wildcardIn(source: RecordSource): string | undefined {
  return source.kind === 'wildcard' ? source.name : undefined
}

/** What was seen at a name of the chain, and by a question of which type. */
function stepOf(name: string, seen: View): { type: RecordType; step: string } {
  const { a, aaaa } = seen
  const alias = hopsFrom(name, seen).find(({ dname }) => !dname)
  if (alias) return { type: 'A', step: alias.target }
  const [type, walk] = a.addresses.length > 0 ? (['A', a] as const) : (['AAAA', aaaa] as const)
  return { type, step: inOrder(walk?.addresses ?? []) }
}

function hopsFrom(name: string, { a }: View): readonly Hop[] {
  const start = a.hops.findIndex((hop) => hop.name.toLowerCase() === name)
  return start === -1 ? [] : a.hops.slice(start)
}

/** The target of a name's alias, or its addresses in order; undefined where it has neither. A DNAME record leads each name to another, and is none. */
function firstStep(reply: Reply, name: string, type: RecordType): string | undefined {
  const answers = reply.kind === 'answer' ? reply.message.answers : []
  let at = name
  let alias = aliasOf(answers, at)
  for (let n = 0; alias?.dname && n < DNAMES_MAX; n++) {
    at = alias.target.toLowerCase()
    alias = aliasOf(answers, at)
  }
  const addresses = answers.filter((record) => record.type === type && record.name.toLowerCase() === at).map(({ value }) => value)
  return alias ? alias.target : addresses.length > 0 ? inOrder(addresses) : undefined
}

function inOrder(addresses: string[]): string {
  return addresses.toSorted().join()
}
