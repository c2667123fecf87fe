import { RCODE } from '../lib/dns-message.ts'
import { type Head, readQuery } from './query.ts'
import { encodeAnswer, encodeRefusal, encodeTruncated } from './reply.ts'
import { answerFrom, type Zone } from './zone.ts'

export type Transport = 'udp' | 'tcp'

export const QUERY_OUTCOMES = [
  'noerror',
  'formerr',
  'servfail',
  'nxdomain',
  'notimp',
  'refused',
  'badvers',
  'truncated',
  'dropped',
] as const
/** What became of a packet, for the counters. */
export type Outcome = (typeof QUERY_OUTCOMES)[number]

export type Responder = {
  /** The response to a packet; undefined when there is none to be sent. Never rejects. */
  respond(packet: Buffer, transport: Transport): Promise<Buffer | undefined>
  /** The response that asks for TCP instead. */
  slip(packet: Buffer): Buffer | undefined
  count(outcome: Outcome): void
}

const TCP_BYTES_MAX = 65_535
const IN_PROGRESS_MAX = 5_000
const OUTCOMES = new Map<number, Outcome>([
  [0, 'noerror'],
  [1, 'formerr'],
  [2, 'servfail'],
  [3, 'nxdomain'],
  [4, 'notimp'],
  [5, 'refused'],
  [16, 'badvers'],
])

/** Turns packets into responses. More than 5,000 that wait for their texts are not taken on. */
export function createResponder(zone: Zone, count: (outcome: Outcome) => void): Responder {
  let inProgress = 0

  const refuse = (head: Head, rcode: number) => {
    count(OUTCOMES.get(rcode)!)
    return encodeRefusal(head, rcode)
  }
  return {
    count,
    async respond(packet, transport) {
      const query = readQuery(packet)
      if (query.kind === 'refused') return refuse(query.head, query.rcode)
      if (query.kind === 'ignored' || inProgress >= IN_PROGRESS_MAX) {
        count('dropped')
        return undefined
      }
      inProgress += 1
      try {
        const answer = await answerFrom(zone, query.question)
        const encoded = encodeAnswer(query.head, zone.name, answer, transport === 'tcp' ? TCP_BYTES_MAX : query.udpBytesMax)
        count(OUTCOMES.get(answer.rcode)!)
        return encoded
      } catch {
        return refuse(query.head, RCODE.serverFailure) // the texts cannot be found out
      } finally {
        inProgress -= 1
      }
    },
    slip(packet) {
      const query = readQuery(packet)
      count(query.kind === 'question' ? 'truncated' : 'dropped')
      return query.kind === 'question' ? encodeTruncated(query.head) : undefined
    },
  }
}
