import type { Authorities, KnownZone } from './authority.ts'
import type { Budget } from './budget.ts'
import { isRegistered } from './place.ts'
import { aliasOf } from './walk.ts'

/** A zone at whose apex a CNAME stands, and the mail servers whose MX records could be seen beside it. */
export type ApexAlias = KnownZone & { mailServers: string[] }

const NO_MAIL = '' // the root as mail server: the domain takes none (RFC 7505 §3)

/**
 * Looks whether a hostname that is a CNAME is a zone's apex, where none may stand: SOA and NS records are there (RFC 1034 §3.6.2, RFC 2181 §10.1). A resolver
 * with the CNAME in memory follows it whatever it is asked for, so the domain's mail gets lost, and it cannot tell either: the zone's own servers can.
 * Undefined also where nobody says so. Names below a registered domain are not looked at, as hardly one of them is a zone.
 */
export async function findApexAlias(authorities: Authorities, hostname: string, budget: Budget): Promise<ApexAlias | undefined> {
  if (!isRegistered(hostname)) return undefined
  const testimony = await authorities.consult(hostname, { hint: undefined, isAlias: true }, budget)
  if (testimony?.zone !== hostname) return undefined
  const answering = testimony.statements.find((heard) => heard.kind === 'answer' && aliasOf(heard.message.answers, hostname))
  if (!answering) return undefined
  // Many servers answer this with the CNAME as well.
  const reply = await authorities.ask(answering.server, { name: hostname, type: 'MX' }, budget)
  const records = reply.kind === 'answer' ? reply.message.answers : []
  const beside = records.filter(({ type, name, value }) => type === 'MX' && name.toLowerCase() === hostname && value !== NO_MAIL)
  const nameServers = testimony.statements.map(({ server }) => server.name)
  return { zone: hostname, nameServers, mailServers: beside.map(({ value }) => value) }
}
