import type { Authorities } from './authority.ts'
import type { Budget } from './budget.ts'
import { placeOf } from './place.ts'
import type { Reply, Resolver } from './resolver.ts'
import { type AskName, aliasOf } from './walk.ts'

/** The TXT record by which the owner of `hostname` proves that it is theirs. */
export type WantedProof = { name: string; value: string; hostname: string; isAlias: boolean }

/** What is there in its place: another text, or the value with more around it; the value in a CNAME record; the record at another name. */
export type ProofMistake = { kind: 'text'; text: string } | { kind: 'cname' } | { kind: 'name'; at: string }

export type FoundProof = { found: 'yes' } | { found: 'unknown' } | { found: 'no'; mistake?: ProofMistake | undefined }

const TEXT_CHARS_MAX = 100

/**
 * Whether a TXT record has exactly the wanted value; also asked at the zone's own servers before a "no", and over TCP (`sureAuthorities`) before their
 * "yes". Where they deny it, looks for the usual mistakes.
 */
export async function findProof(
  parts: { resolver: Resolver; authorities: Authorities; sureAuthorities: Authorities },
  wanted: WantedProof,
  budget: Budget,
): Promise<FoundProof> {
  const { name, value, hostname, isAlias } = wanted
  const reply = await parts.resolver.resolve({ name, type: 'TXT' }, budget)
  if (textsOf(reply).includes(value)) return { found: 'yes' }
  const hear = async (asked: Authorities) => {
    const testimony = await asked.consult(hostname, { hint: undefined, isAlias }, budget)
    const answering = (testimony?.statements ?? []).filter((statement) => statement.kind === 'answer')
    const replies = await Promise.all(answering.map(({ server }) => asked.ask(server, { name, type: 'TXT' }, budget)))
    const isThere = replies.some((each) => textsOf(each).includes(value))
    return { zone: testimony?.zone, isThere, server: answering[0]?.server, denial: replies.find((each) => each.kind === 'answer') }
  }
  const heard = await hear(parts.authorities)
  if (heard.isThere) {
    const sure = await hear(parts.sureAuthorities)
    return { found: sure.isThere ? 'yes' : sure.denial ? 'no' : 'unknown' }
  }
  const denial = heard.denial ?? reply
  if (denial.kind !== 'answer') return { found: 'unknown' }
  const ask: AskName = (asking) =>
    heard.server && heard.denial ? parts.authorities.ask(heard.server, asking, budget) : parts.resolver.resolve(asking, budget)
  return { found: 'no', mistake: await findMistake(wanted, heard.zone, denial, ask) }
}

export function textsOf(reply: Reply): string[] {
  return reply.kind === 'answer' ? reply.message.answers.filter((record) => record.type === 'TXT').map((record) => record.value) : []
}

async function findMistake(
  wanted: WantedProof,
  knownZone: string | undefined,
  there: Reply,
  ask: AskName,
): Promise<ProofMistake | undefined> {
  const { name, value, hostname } = wanted
  // All proofs begin alike: one that ends otherwise is an older one, or another project's.
  const likeness = value.slice(0, value.lastIndexOf('-') + 1).toLowerCase()
  const text = textsOf(there).find((one) => likeness !== '' && one.toLowerCase().includes(likeness))
  if (text !== undefined) return { kind: 'text', text: text.slice(0, TEXT_CHARS_MAX) }
  const alias = there.kind === 'answer' ? aliasOf(there.message.answers, name) : undefined
  if (alias?.target.toLowerCase().startsWith(value.toLowerCase())) return { kind: 'cname' }
  const { zone } = placeOf(hostname, knownZone)
  const others = [`${name}.${zone}`, `_namesake.${zone}`, hostname, zone].filter((at, n, all) => at !== name && all.indexOf(at) === n)
  const found = await Promise.all(
    others.map(async (at) => textsOf(await ask({ name: at, type: 'TXT' })).some((one) => one.includes(value))),
  )
  const at = others[found.indexOf(true)]
  return at === undefined ? undefined : { kind: 'name', at }
}
