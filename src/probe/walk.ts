import { isAskable, type Message, RCODE, type RecordType, type ResourceRecord } from '../lib/dns-message.ts'
import type { Reply } from './resolver.ts'
import { mustBeSigned } from './signatures.ts'

/** `dname`: the DNAME record that makes the alias, as it does for every name below its own (RFC 6672); such a name has no CNAME record, nor any other. */
export type Hop = { name: string; target: string; dname?: { name: string; target: string } }

/**
 * Where a name led: CNAME by CNAME, with case kept, to addresses of one family or to why there are none.
 * `bogus`: there is an answer, but its DNSSEC signatures are wrong. `failed`: servers answered with an error. `silent`: nobody answered.
 * `zone` is the zone that denied the name itself, as its SOA says.
 */
export type Walk = { hops: Hop[]; addresses: string[]; end: WalkEnd; zone?: string }
export type WalkEnd = 'addresses' | 'no-data' | 'no-such-name' | 'loop' | 'bogus' | 'failed' | 'silent'

export type AskName = (asking: { name: string; type: RecordType; unchecked?: boolean }) => Promise<Reply>

const HOPS_MAX = 16 // resolvers give up at about this many, too

/**
 * Follows a name to its addresses. Answers mostly hold the whole chain; where one stops short, the next name is asked.
 * Where a resolver fails, which it also does for loops, the chain is asked for CNAME by CNAME. A `first` reply spares the first question.
 * One that fails for a moment says nothing of signatures: they are wrong where it refuses once more what it has just given unchecked, and only of
 * a zone that must have them, as BIND remembers a failure for a second, and not for what is asked unchecked.
 */
export async function walk(name: string, type: 'A' | 'AAAA', ask: AskName, first?: Reply): Promise<Walk> {
  const state: Walk = { hops: [], addresses: [], end: 'no-data' }
  let current = name.toLowerCase()
  let reply = first ?? (await ask({ name: current, type }))
  const seen = new Set([current])
  for (;;) {
    if (reply.kind === 'silent') return { ...state, end: 'silent' }
    let message = reply.kind === 'answer' ? reply.message : await askForAlias(current, ask)
    if (!message) {
      const unchecked = await ask({ name: current, type, unchecked: true })
      if (unchecked.kind !== 'answer') return { ...state, end: 'failed' }
      const again = await ask({ name: current, type })
      if (again.kind === 'silent') return { ...state, end: 'silent' }
      if (again.kind === 'refused') return { ...state, end: (await mustBeSigned(current, ask)) ? 'bogus' : 'failed' }
      message = again.message
    }
    const before = state.hops.length
    for (let hop = aliasOf(message.answers, current); hop; hop = aliasOf(message.answers, current)) {
      state.hops.push(hop)
      current = hop.target.toLowerCase()
      if (seen.has(current) || state.hops.length > HOPS_MAX) return { ...state, end: 'loop' }
      seen.add(current)
    }
    state.addresses = message.answers
      .filter((record) => record.type === type && record.name.toLowerCase() === current)
      .map((record) => record.value)
    if (state.addresses.length > 0) return { ...state, end: 'addresses' }
    const moved = state.hops.length > before
    // The code of an answer with a chain is about the chain's last name (RFC 6604 §3), if the server looked that far.
    if (message.rcode === RCODE.noSuchName && (!moved || message.recursionAvailable)) return denied(state, 'no-such-name', message)
    if (!moved) return denied(state, 'no-data', message)
    if (!isAskable(current)) return { ...state, end: 'no-such-name' }
    reply = await ask({ name: current, type })
  }
}

function denied(state: Walk, end: 'no-data' | 'no-such-name', message: Message): Walk {
  const zone = message.authority.find((record) => record.type === 'SOA')?.name.toLowerCase()
  return state.hops.length === 0 && zone !== undefined ? { ...state, end, zone } : { ...state, end }
}

/** The alias that a name in lower case has among these records. Most servers send the CNAME that a DNAME stands for beside it, and some the DNAME alone. */
export function aliasOf(answers: ResourceRecord[], name: string): Hop | undefined {
  const record = answers.find((answer) => answer.type === 'CNAME' && answer.name.toLowerCase() === name)
  const above = answers.find((answer) => answer.type === 'DNAME' && name.endsWith(`.${answer.name.toLowerCase()}`))
  if (!above) return record && { name: record.name, target: record.value }
  const dname = { name: above.name, target: above.value }
  const target = `${name.slice(0, -dname.name.length)}${dname.target}`.replace(/\.$/, '') // behind the dot; the root has none
  if (!record) return { name, target, dname }
  return { name: record.name, target: record.value, ...(record.value.toLowerCase() === target.toLowerCase() && { dname }) }
}

/** Where DNAME records lead a name: there it has its records. The name itself where none does. */
export function behindDnames(name: string, hops: readonly Hop[]): string {
  const own = hops.findIndex(({ dname }) => !dname)
  return hops.slice(0, own === -1 ? undefined : own).at(-1)?.target ?? name
}

/** An answer that holds the name's alias, where there is one. */
export async function askForAlias(name: string, ask: AskName): Promise<Message | undefined> {
  const reply = await ask({ name, type: 'CNAME' })
  return reply.kind === 'answer' && aliasOf(reply.message.answers, name) ? reply.message : undefined
}
