import { isWithin, parentOf, registeredDomain } from './place.ts'
import type { AskName } from './walk.ts'

/** `unsigned`: the zone has no key at all, so what is wrong is what its parent says of it. */
export type Signatures = { zone: string; unsigned: boolean }

/** Of a hostname whose signatures a resolver refuses: the zone that it is in, and whether that is signed. What is asked is asked unchecked. */
export async function lookAtSignatures(hostname: string, ask: AskName): Promise<Signatures> {
  const zone = await findZone(hostname, ask)
  const keys = await ask({ name: zone, type: 'DNSKEY', unchecked: true })
  return { zone, unsigned: keys.kind === 'answer' && !keys.message.answers.some(({ type }) => type === 'DNSKEY') }
}

/** Whether the parent of a name's zone says that the zone is signed (RFC 4035 §5.2). Where it does not, no resolver looks at signatures there. */
export async function mustBeSigned(name: string, ask: AskName): Promise<boolean> {
  const zone = await findZone(name, ask)
  const parents = await ask({ name: zone, type: 'DS', unchecked: true })
  return parents.kind === 'answer' && parents.message.answers.some((record) => record.type === 'DS' && record.name.toLowerCase() === zone)
}

/** Behind an alias the SOA record is that of the target's zone, so the names above are asked as well. The registered domain where none says so. */
async function findZone(hostname: string, ask: AskName): Promise<string> {
  const domain = registeredDomain(hostname)
  for (let name = hostname; isWithin(domain, name); name = parentOf(name)) {
    const reply = await ask({ name, type: 'SOA', unchecked: true })
    const records = reply.kind === 'answer' ? [...reply.message.answers, ...reply.message.authority] : []
    const zones = records.filter(({ type }) => type === 'SOA').map((record) => record.name.toLowerCase())
    const found = zones.find((zone) => isWithin(zone, hostname) && isWithin(domain, zone))
    if (found !== undefined) return found
  }
  return domain
}
