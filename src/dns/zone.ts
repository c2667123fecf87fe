import { CLASS_IN, RCODE, TYPE_NUMBERS } from '../lib/dns-message.ts'

/** What the server answers for: the zone, and the addresses of its own name server. Names in lower case, without a final dot. */
export type Zone = {
  name: string
  addresses: readonly string[]
  /** Whether a label directly below the zone may ever hold a text. */
  mayHold(label: string): boolean
  /** The texts that stand at a label now. */
  findTexts(label: string): Promise<readonly string[]>
}

export type ZoneRecord = { name: string; ttl: number; type: 'A' | 'AAAA' | 'NS' | 'SOA' | 'TXT' | 'HINFO'; value: string }

/** `authoritative` is false of what is refused or could not be looked up. */
export type Answer = {
  rcode: number
  authoritative: boolean
  answers: readonly ZoneRecord[]
  authority: readonly ZoneRecord[]
  additional: readonly ZoneRecord[]
}

/** The first label of the zone's name server. */
export const NAME_SERVER = 'ns1'

const FIXED_TTL_S = 3_600
const CHANGING_TTL_S = 5 // also the negative one (RFC 2308 §5): an answer that came too early must not stand in the way of a challenge
const TEXTS_SHOWN_MAX = 20
const TYPE_ANY = 255
const LABELS = /(?:\\.|[^.\\])+/g // with their escapes (RFC 1035 §5.1)
const TYPES_OF_TRANSFERS = [251, 252] // IXFR and AXFR

type Asked = { name: string; type: number; class: number }

/**
 * Answers one question from the zone alone (RFC 1034 §4.3.2); the name is in lower case. What lies outside, another class and transfers are refused.
 * Rejects when the texts of a label cannot be found out; the rest of the zone needs nobody.
 */
export async function answerFrom(zone: Zone, asked: Asked): Promise<Answer> {
  const below = labelsBelow(zone.name, asked.name)
  if (below === undefined || asked.class !== CLASS_IN || TYPES_OF_TRANSFERS.includes(asked.type)) return plain(RCODE.refused)
  if (below.length > 1 || !exists(zone, below[0])) return { ...plain(RCODE.noSuchName), authoritative: true, authority: [soaOf(zone)] }
  if (asked.type === TYPE_ANY) return found([{ name: asked.name, ttl: FIXED_TTL_S, type: 'HINFO', value: 'RFC8482' }]) // RFC 8482 §4.2
  if (below[0] === undefined) return atApex(zone, asked)
  return below[0] === NAME_SERVER ? atNameServer(zone, asked) : atLabel(zone, asked, below[0])
}

function atApex(zone: Zone, { type }: Asked): Answer {
  if (type === TYPE_NUMBERS.SOA) return found([soaOf(zone)])
  if (type !== TYPE_NUMBERS.NS) return nothing(zone)
  const server = nameServerOf(zone)
  return { ...found([{ name: zone.name, ttl: FIXED_TTL_S, type: 'NS', value: server }]), additional: addressRecords(zone) }
}

function atNameServer(zone: Zone, { type }: Asked): Answer {
  const addresses = addressRecords(zone).filter((record) => type === (record.type === 'A' ? TYPE_NUMBERS.A : TYPE_NUMBERS.AAAA))
  return addresses.length > 0 ? found(addresses) : nothing(zone)
}

async function atLabel(zone: Zone, { name, type }: Asked, label: string): Promise<Answer> {
  const texts = type === TYPE_NUMBERS.TXT ? await zone.findTexts(label) : []
  if (texts.length === 0) return nothing(zone)
  return found(texts.slice(0, TEXTS_SHOWN_MAX).map((value) => ({ name, ttl: CHANGING_TTL_S, type: 'TXT' as const, value })))
}

/** The labels of a name before the zone's own; undefined when it lies outside, as one does whose last dot before the zone is escaped, inside a label. */
function labelsBelow(zone: string, name: string): string[] | undefined {
  const labels = name.match(LABELS) ?? []
  const own = zone.split('.')
  return labels.slice(-own.length).join('.') === zone ? labels.slice(0, -own.length) : undefined
}

function exists(zone: Zone, label: string | undefined): boolean {
  return label === undefined || label === NAME_SERVER || zone.mayHold(label)
}

function addressRecords(zone: Zone): ZoneRecord[] {
  const name = nameServerOf(zone)
  return zone.addresses.map((value) => ({ name, ttl: FIXED_TTL_S, type: value.includes(':') ? 'AAAA' : 'A', value }))
}

function soaOf(zone: Zone): ZoneRecord {
  return { name: zone.name, ttl: CHANGING_TTL_S, type: 'SOA', value: nameServerOf(zone) }
}

function nameServerOf(zone: Zone): string {
  return `${NAME_SERVER}.${zone.name}`
}

function found(answers: readonly ZoneRecord[]): Answer {
  return { ...plain(RCODE.noError), authoritative: true, answers }
}

/** The name exists, and holds nothing of the type (RFC 2308 §2.2). */
function nothing(zone: Zone): Answer {
  return { ...plain(RCODE.noError), authoritative: true, authority: [soaOf(zone)] }
}

function plain(rcode: number): Answer {
  return { rcode, authoritative: false, answers: [], authority: [], additional: [] }
}
