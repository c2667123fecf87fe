import { randomInt } from 'node:crypto'
import { isSpecialAddress } from '../lib/addresses.ts'
import { isAskable, type Message, RCODE, type RecordType, type ResourceRecord } from '../lib/dns-message.ts'
import { Lru } from '../lib/lru.ts'
import { type Budget, spend, wasKeptWaiting } from './budget.ts'
import type { Exchange } from './exchange.ts'
import { isPublicSuffix, isWithin, parentOf } from './place.ts'
import type { Reply, Resolver } from './resolver.ts'

/** A name server at the address that answered, or at one that it has. */
export type NameServer = { name: string; address: string }

/**
 * What one authoritative server said. `lame`: it does not answer for the zone, as it refuses or says what it is no authority for. `failed`: it answered with
 * another error, as in an outage. `silent`: no answer in time, or one that a resolver on the way gave in its place.
 */
export type Statement = { server: NameServer; kind: 'answer'; message: Message } | { server: NameServer; kind: Unsaid }
export type Unsaid = 'lame' | 'failed' | 'silent'
export type Testimony = { zone: string; statements: Statement[] }

/** What is known of a hostname before its zone is looked for: the zone that an SOA named, and whether it is a CNAME, which is no zone itself. */
export type Clue = { hint: string | undefined; isAlias: boolean }

/** A zone, and the names of its servers in lower case. */
export type KnownZone = { zone: string; nameServers: string[] }

export type Authorities = {
  /**
   * Finds the zone that a hostname is in and asks its servers, each for itself, for the hostname's A records.
   * Undefined where no zone can be found, none below a public suffix exists, or its servers have no address that may be asked.
   */
  consult(hostname: string, clue: Clue, budget: Budget): Promise<Testimony | undefined>
  /**
   * The zone of a hostname as its parent delegates it. Undefined where none can be found, where what may be the zone cannot be resolved, or where none
   * below a public suffix exists.
   */
  zoneOf(hostname: string, clue: Clue, budget: Budget): Promise<KnownZone | undefined>
  /** Asks one server of a zone. */
  ask(server: NameServer, asking: { name: string; type: RecordType }, budget: Budget): Promise<Reply>
}

type Referral = { kind: 'referral'; message: Message }
/** With one address of each family at most, and one at least. */
type Listed = { name: string; addresses: string[] }
type Zone = { name: string; servers: Listed[] }
type Heard = { address: string; message: Message | undefined }
/** `glue`: addresses of the name servers, as far as they came with them. */
type Cut = { name: string; nameServers: string[]; glue: ResourceRecord[] }

const NAME_SERVERS_MAX = 4
const NAME_SERVERS_KEPT_MAX = 8 // what a minute's memory of a zone may hold is bounded
const DELEGATIONS_MAX = 2_000
const DELEGATION_MS = 60_000
const REFERRALS_MAX = 4
const TRY_TIMEOUTS_MS = [600, 1_200]
const DNS_PORT = 53

/**
 * `port` other than undefined is for authorities that listen elsewhere than at 53, and then may have private addresses too. `surely`: all that they
 * say is asked over TCP, referrals too.
 */
export function createAuthorities(parts: {
  resolver: Resolver
  exchange: Exchange
  port: number | undefined
  surely?: boolean
}): Authorities {
  const { resolver, exchange } = parts
  const askOne = parts.surely ? exchange.askSurely : exchange.ask
  const port = parts.port ?? DNS_PORT
  const mayAsk = (address: string) => parts.port !== undefined || !isSpecialAddress(address)

  const delegations = new Lru<string, { cut: Cut | undefined; until: number }>(DELEGATIONS_MAX)

  async function consult(hostname: string, clue: Clue, budget: Budget): Promise<Testimony | undefined> {
    // Nothing is registered there: the registry's servers need not be asked every five minutes.
    if (clue.hint !== undefined && isPublicSuffix(clue.hint)) return undefined
    const found = await findCut(startOf(hostname, clue), budget, true)
    const cut = found && (await asDelegated(found, budget))
    let zone = cut && { name: cut.name, servers: await addressesOf(cut, budget) }
    for (let n = 0; zone && zone.servers.length > 0 && n <= REFERRALS_MAX; n++) {
      const { name, servers } = zone
      const heard = await Promise.all(servers.map((server) => hear(server, hostname, name, budget)))
      const referral = heard.find((one) => one.kind === 'referral')
      if (!referral) return { zone: name, statements: heard.filter((one) => one.kind !== 'referral') }
      zone = await followReferral(referral.message, budget)
    }
    return undefined
  }

  /** `climbsRefusals`: looks above a name that cannot be resolved, which may be a zone itself. */
  async function findCut(start: string, budget: Budget, climbsRefusals: boolean): Promise<Cut | undefined> {
    for (let name = start; name !== ''; ) {
      const reply = await resolver.resolveCached({ name, type: 'NS' }, budget)
      if (reply.kind === 'silent' || (reply.kind !== 'answer' && !climbsRefusals)) return undefined
      // A zone whose servers are all broken cannot be resolved: its parent then refers to them.
      const message = reply.kind === 'answer' ? reply.message : undefined
      const nameServers = message ? nameServersOf(message.answers, name) : []
      if (message && nameServers.length > 0) return { name, nameServers, glue: message.additional }
      name = nextUp(name, message)
    }
    return undefined
  }

  /**
   * The zone as a server of its parent delegates it now, for a minute from memory: a resolver remembers for two days who served a zone that has moved.
   * As it was found where the parent does not say.
   */
  async function asDelegated(found: Cut, budget: Budget): Promise<Cut> {
    const known = delegations.get(found.name)
    if (known && known.until > performance.now()) return known.cut ?? found
    const cut = await askParent(found.name, budget)
    if (!wasKeptWaiting(budget)) delegations.set(found.name, { cut, until: performance.now() + DELEGATION_MS })
    return cut ?? found
  }

  async function askParent(name: string, budget: Budget): Promise<Cut | undefined> {
    const parent = await findCut(parentOf(name), budget, false)
    if (!parent) return undefined
    const any = parent.nameServers[randomInt(parent.nameServers.length)]!
    const { addresses } = await listed(any, parent.glue, budget)
    const message = addresses.length > 0 ? (await askAt(addresses, { name, type: 'NS' }, budget)).message : undefined
    if (!message) return undefined
    const records = message.authoritative ? message.answers : message.authority
    const nameServers = nameServersOf(records, name).slice(0, NAME_SERVERS_KEPT_MAX)
    const glue = message.additional.filter((record) => isAddress(record) && nameServers.includes(record.name.toLowerCase()))
    return nameServers.length > 0 ? { name, nameServers, glue: glue.slice(0, 2 * NAME_SERVERS_KEPT_MAX) } : undefined
  }

  async function hear({ name, addresses }: Listed, hostname: string, zone: string, budget: Budget): Promise<Statement | Referral> {
    const { address, message } = await askAt(addresses, { name: hostname, type: 'A' }, budget)
    const server = { name, address }
    if (!message) return { server, kind: 'silent' }
    const known = message.rcode === RCODE.noError || message.rcode === RCODE.noSuchName
    if (known && message.authoritative) return { server, kind: 'answer', message: { ...message, answers: within(zone, message.answers) } }
    if (known && referredZone(message, hostname, zone))
      return { kind: 'referral', message: { ...message, authority: below(zone, message.authority) } }
    if (known) return { server, kind: message.recursionAvailable ? 'silent' : 'lame' }
    return { server, kind: message.rcode === RCODE.refused ? 'lame' : 'failed' }
  }

  /** Tries one address after the other, but none of a family to which there is no way from here. */
  async function askAt(known: string[], asking: { name: string; type: RecordType }, budget: Budget): Promise<Heard> {
    const heard = await exchange.inPlace(budget, () => tryEach(known, asking, budget))
    return heard ?? { address: known[0]!, message: undefined }
  }

  async function tryEach(known: string[], asking: { name: string; type: RecordType }, budget: Budget): Promise<Heard | undefined> {
    for (const [n, timeoutMs] of TRY_TIMEOUTS_MS.entries()) {
      if (!spend(budget)) break
      const reached = known.filter((each) => exchange.reaches(each))
      const addresses = reached.length > 0 ? reached : known
      const address = addresses[n % addresses.length]!
      const endsAt = Math.min(budget.endsAt, performance.now() + timeoutMs)
      const message = await askOne({ address, port }, { ...asking, recurse: false, unchecked: true }, endsAt)
      if (message) return { address, message }
    }
    return undefined
  }

  async function followReferral(message: Message, budget: Budget): Promise<Zone> {
    const name = message.authority.find((record) => record.type === 'NS')!.name.toLowerCase()
    return { name, servers: await addressesOf({ nameServers: nameServersOf(message.authority, name), glue: message.additional }, budget) }
  }

  async function addressesOf({ nameServers, glue }: Omit<Cut, 'name'>, budget: Budget): Promise<Listed[]> {
    const servers = await Promise.all(nameServers.slice(0, NAME_SERVERS_MAX).map((name) => listed(name, glue, budget)))
    return servers.filter(({ addresses }) => addresses.length > 0)
  }

  async function listed(name: string, additional: ResourceRecord[], budget: Budget): Promise<Listed> {
    const glue = additional.filter((record) => isAddress(record) && record.name.toLowerCase() === name)
    const known = (glue.length > 0 ? glue : await lookUpAddresses(name, budget)).filter((record) => mayAsk(record.value))
    const ofFamily = (type: RecordType) => known.find((record) => record.type === type)?.value
    return { name, addresses: [ofFamily('A'), ofFamily('AAAA')].filter((address) => address !== undefined) }
  }

  async function lookUpAddresses(name: string, budget: Budget): Promise<ResourceRecord[]> {
    const replies = await Promise.all((['A', 'AAAA'] as const).map((type) => resolver.resolveCached({ name, type }, budget)))
    return replies.flatMap((reply) => (reply.kind === 'answer' ? reply.message.answers.filter(isAddress) : []))
  }

  return {
    consult,
    async zoneOf(hostname, clue, budget) {
      if (clue.hint !== undefined && isPublicSuffix(clue.hint)) return undefined
      const cut = await findCut(startOf(hostname, clue), budget, false)
      if (!cut || isPublicSuffix(cut.name)) return undefined
      return { zone: cut.name, nameServers: (await asDelegated(cut, budget)).nameServers }
    },
    async ask(server, asking, budget) {
      const { message } = await askAt([server.address], asking, budget)
      if (!message) return { kind: 'silent' }
      const known = message.rcode === RCODE.noError || message.rcode === RCODE.noSuchName
      return known ? { kind: 'answer', message } : { kind: 'refused', rcode: message.rcode }
    },
  }
}

function isAddress({ type }: ResourceRecord): boolean {
  return type === 'A' || type === 'AAAA'
}

function startOf(hostname: string, { hint, isAlias }: Clue): string {
  return hint ?? (isAlias ? parentOf(hostname) : hostname)
}

function nameServersOf(records: ResourceRecord[], zone: string): string[] {
  const found = records.filter((record) => record.type === 'NS' && record.name.toLowerCase() === zone)
  return found.map((record) => record.value.toLowerCase()).filter(isAskable)
}

/** The name to ask next for its servers: the zone that a denial names, if it is above, else the parent. */
function nextUp(name: string, denial: Message | undefined): string {
  const zone = denial?.authority.find((record) => record.type === 'SOA')?.name.toLowerCase()
  return zone !== undefined && zone !== '' && zone !== name && isWithin(zone, name) ? zone : parentOf(name)
}

function within(zone: string, records: ResourceRecord[]): ResourceRecord[] {
  return records.filter((record) => isWithin(zone, record.name.toLowerCase()))
}

function below(zone: string, records: ResourceRecord[]): ResourceRecord[] {
  return records.filter((record) => record.name.toLowerCase() !== zone && isWithin(zone, record.name.toLowerCase()))
}

function referredZone(message: Message, hostname: string, zone: string): boolean {
  return below(zone, message.authority).some((record) => record.type === 'NS' && isWithin(record.name.toLowerCase(), hostname))
}
