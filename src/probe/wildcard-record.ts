import type { RecordType } from '../lib/dns-message.ts'
import { parentOf, placeOf } from './place.ts'
import type { Reply } from './resolver.ts'
import { sampleUnder } from './sample.ts'
import type { View } from './verdict.ts'
import { type AskName, aliasOf } from './walk.ts'

/**
 * The name of the wildcard record (`*.customer.com`) that gave a name in lower case what was seen there; undefined where the name has it itself, or is its
 * zone. It is told from a record of the name's own by two random names, one beside the name and one below it.
 */
export async function findWildcardRecord(
  name: string,
  seen: View,
  knownZone: string | undefined,
  ask: AskName,
): Promise<string | undefined> {
  const { label, zone } = placeOf(name, knownZone)
  if (label === '@') return undefined
  const { type, step: own } = stepOf(name, seen)
  const step = async (at: string) => firstStep(await ask({ name: at, type }), at, type)
  const haveThat = async (...names: string[]) => (await Promise.all(names.map(step))).every((found) => found === own)
  // A wildcard record answers beside the name, and below it only while the name has no record of its own (RFC 4592 §2.2.1).
  let above = parentOf(name)
  if (!(await haveThat(sampleUnder(above), sampleUnder(name)))) return undefined
  // It answers over several labels where the name between them does not exist.
  while (above !== zone && (await haveThat(above, sampleUnder(parentOf(above))))) above = parentOf(above)
  return `*.${above}`
}

/** What was seen at a name of the chain, and by a question of which type. */
function stepOf(name: string, { a, aaaa }: View): { type: RecordType; step: string } {
  const alias = a.hops.find((hop) => hop.name.toLowerCase() === name)
  if (alias) return { type: 'A', step: alias.target }
  const [type, walk] = a.addresses.length > 0 ? (['A', a] as const) : (['AAAA', aaaa] as const)
  return { type, step: inOrder(walk?.addresses ?? []) }
}

/** The target of a name's alias, or its addresses in order; undefined where it has neither. */
function firstStep(reply: Reply, name: string, type: RecordType): string | undefined {
  const answers = reply.kind === 'answer' ? reply.message.answers : []
  const alias = aliasOf(answers, name)
  const addresses = answers.filter((record) => record.type === type && record.name.toLowerCase() === name).map(({ value }) => value)
  return alias ? alias.target : addresses.length > 0 ? inOrder(addresses) : undefined
}

function inOrder(addresses: string[]): string {
  return addresses.toSorted().join()
}
