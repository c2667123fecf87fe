import type { Hostname } from '../hostname.ts'
import { type AddressSet, addressKey } from '../lib/addresses.ts'
import { ExactLru } from '../lib/exact-lru.ts'
import { Lru } from '../lib/lru.ts'
import { createOnce } from '../lib/once.ts'
import type { CertificateText } from './certificate-text.ts'
import type { CertificateAnswer, WaitingClient } from './tls.ts'

/** A certificate as the local copy holds it, its key opened. `id` changes whenever the certificate does. */
export type KeptCertificate = CertificateText & { id: string; notAfterMs: number }

/** What the machine knows of a hostname's certificate: one in hand, whether its time is over or not, and how the last attempt at one failed. */
export type CertificateKnowledge = {
  certificate?: CertificateInHand | undefined
  failure?: { reason: string; nextAttemptAtMs: number } | undefined
}

/** Its key is opened only when it is needed. Throws when that cannot be, as with another machine's secret. */
type CertificateInHand = { notAfterMs: number; open: () => KeptCertificate }

export type CertificateSourceParts = {
  /** Reads the local copy for a claimed name; no other machine is asked. */
  read(claimed: Hostname): CertificateKnowledge
  /**
   * The names whose certificates may serve the hostname, the one to order first: its own, if it is claimed or one of the service's; then the
   * wildcard over it, if it is the same project's, which nobody looks for before it is needed. None: it is not served here at all. `client`: who wants to know.
   */
  servedBy(hostname: Hostname, client: string): Iterable<Hostname> | Promise<Iterable<Hostname>>
  /** Asks for an order. Resolves once the wish is stored, not when the certificate is there. */
  requestIssuance(claimed: Hostname): Promise<{ kind: 'requested' } | { kind: 'refused'; reason: string }>
  /** As Date.now, for what a certificate says of its end. */
  now(): number
  /** Milliseconds that never go back. */
  steadyNow?(): number
  /** Proxies whose connections carry many visitors each: as many as there are seats may wait of one. */
  trustedProxies: AddressSet
}

export type CertificateSource = {
  certificateFor(hostname: Hostname, client: WaitingClient): CertificateAnswer | Promise<CertificateAnswer>
  /** The local copy has news of this name's certificate. */
  changed(claimed: Hostname): void
  /** Forgets all that is remembered, as after the link to the local copy's writer was lost. */
  reset(): void
  waiting(): number
}

const MEMORY_MAX = 60_000_000
/** A certificate with its key and issuers takes 1 to 4 KB: 15,000 of those. One that was imported may be of 64 KB. */
const IN_MEMORY_MIN = 4_000
const WAIT_MS_MAX = 10_000
const WAITING_MAX = 1_000
const WAITING_PER_CLIENT_MAX = 20
// As long as nobody tells of news, nobody asks again sooner: a name whose certificate is not ordered any more may be asked for at any rate.
const REFUSED_MS = 5_000
/** For so long nobody else waits for a certificate that did not come in time, where an ended one can be shown. */
const IN_VAIN_MS = 60_000
const REFUSALS_MAX = 10_000
const NOT_REGISTERED: CertificateAnswer = { kind: 'refused', reason: 'not registered' }
const NOT_IN_TIME = { kind: 'refused', reason: 'the certificate was not issued in time' } as const

/** `ended`: opens the certificate in hand whose time is over. `failure`: why the one in hand cannot be opened. */
type Found = { answer?: CertificateAnswer; ended?: CertificateInHand['open'] | undefined; failure?: Error }

/**
 * Where handshakes get their certificate: memory, then the local copy; else, for a hostname that is served here, the handshake waits
 * for one issuance that all waiting handshakes share. Waiting is bounded in time and number, and nobody waits during a back-off, nor while
 * the project's wildcard certificate can stand in. Where all that fails, one that has ended is shown: the visitor judges it, and may have the better clock.
 * All is remembered by claimed name, so a wildcard's certificate once for all it covers.
 */
export function createCertificateSource(parts: CertificateSourceParts): CertificateSource {
  const { steadyNow = () => performance.now() } = parts
  const memory = new ExactLru<Hostname, KeptCertificate>({ max: () => MEMORY_MAX, weightOf: charactersOf, onLeave() {} })
  const room = createWaitingRoom()
  const requests = createOnce<Hostname, Awaited<ReturnType<CertificateSourceParts['requestIssuance']>>>()
  const request = (hostname: Hostname) => requests(hostname, () => parts.requestIssuance(hostname))
  const refusals = new Lru<Hostname, { reason: string; untilMs: number }>(REFUSALS_MAX)

  const isOver = ({ notAfterMs }: { notAfterMs: number }) => notAfterMs <= parts.now()
  const remembered = (hostname: Hostname): CertificateAnswer | undefined => {
    const known = memory.get(hostname)
    return known && !isOver(known) ? { kind: 'certificate', ...known } : undefined
  }
  const inCopy = (hostname: Hostname): Found => {
    const { certificate, failure } = parts.read(hostname)
    if (certificate && !isOver(certificate)) {
      const kept = certificate.open()
      memory.set(hostname, kept)
      return { answer: { kind: 'certificate', ...kept } }
    }
    const ended = certificate?.open
    if (!failure || failure.nextAttemptAtMs <= parts.now()) return { ended }
    return { answer: { kind: 'refused', reason: failure.reason }, ended }
  }

  const inCopyIfSound = (hostname: Hostname): Found => {
    try {
      return inCopy(hostname)
    } catch (error) {
      return { failure: error as Error }
    }
  }

  const refused = (hostname: Hostname): CertificateAnswer | undefined => {
    const refusal = refusals.get(hostname)
    return refusal && refusal.untilMs > steadyNow() ? { kind: 'refused', reason: refusal.reason } : undefined
  }

  const hasNews = (hostname: Hostname): boolean => {
    try {
      const { certificate, failure } = parts.read(hostname)
      return failure !== undefined || (certificate !== undefined && !isOver(certificate))
    } catch {
      return true // the handshakes that wait meet the same failure, and it is logged there
    }
  }

  const obtain = (names: Iterable<Hostname>, client: WaitingClient) => {
    let first: ({ name: Hostname } & Found) | undefined
    for (const name of names) {
      const known = remembered(name)
      if (known) return known
      const found = inCopyIfSound(name)
      if (found.answer?.kind === 'certificate') return found.answer
      first ??= { name, ...found }
    }
    if (!first) return NOT_REGISTERED
    if (first.failure) throw first.failure
    const { name, ended } = first
    const refusal = first.answer ?? refused(name)
    if (refusal) return orEnded(refusal, ended)
    const answer = waitForIssuance(name, client, ended !== undefined)
    return ended ? answer.then((come) => orEnded(come, ended)) : answer
  }

  /** What the copy has to say of the certificate once it has news; undefined when the time is over. */
  const arrives = async (hostname: Hostname, seat: Seat): Promise<CertificateAnswer | undefined> => {
    for (;;) {
      const isCalled = await seat.called()
      const { answer } = inCopy(hostname)
      if (answer || !isCalled) return answer
    }
  }
  const asked = async (hostname: Hostname, arrival: Promise<CertificateAnswer | undefined>): Promise<CertificateAnswer | undefined> => {
    const reply = await request(hostname)
    // The certificate may have arrived while we asked: then the refusal says so, and the copy is the better witness.
    const { answer } = inCopy(hostname)
    if (answer || reply.kind === 'requested') return answer ?? arrival
    refusals.set(hostname, { reason: reply.reason, untilMs: steadyNow() + REFUSED_MS })
    return reply
  }

  const waitForIssuance = async (hostname: Hostname, client: WaitingClient, hasEnded: boolean): Promise<CertificateAnswer> => {
    const isShared = parts.trustedProxies.has(client.address)
    const seat = room.enter(hostname, isShared ? undefined : addressKey(client.address))
    if (!seat) {
      // It is ordered all the same, for whoever comes next.
      request(hostname).catch(() => {})
      return { kind: 'refused', reason: 'too many handshakes wait for a certificate' }
    }
    client.onceGone(seat.giveUp)
    try {
      const arrival = arrives(hostname, seat)
      // The wish goes to a database that may not answer for seconds, after another wish for the same certificate has reached it.
      const answer = await Promise.race([arrival, asked(hostname, arrival)])
      if (answer) return answer
      if (hasEnded && seat.isTimeOver()) refusals.set(hostname, { reason: NOT_IN_TIME.reason, untilMs: steadyNow() + IN_VAIN_MS })
      return NOT_IN_TIME
    } finally {
      seat.leave()
    }
  }

  return {
    certificateFor(hostname, client) {
      const known = remembered(hostname)
      if (known) return known
      // Before anything else is read: a scanner's guesses end here.
      const names = parts.servedBy(hostname, client.address)
      return names instanceof Promise ? names.then((found) => obtain(found, client)) : obtain(names, client)
    },
    changed(hostname) {
      memory.delete(hostname)
      refusals.delete(hostname)
      if (room.holds(hostname) && hasNews(hostname)) room.call(hostname)
    },
    reset() {
      memory.clear()
      refusals.clear()
      room.callAll()
    },
    waiting: () => room.size(),
  }
}

function charactersOf({ leafPem, issuersPem, keyPem }: CertificateText): number {
  return Math.max(IN_MEMORY_MIN, leafPem.length + issuersPem.length + keyPem.length)
}

function orEnded(answer: CertificateAnswer, ended: Found['ended']): CertificateAnswer {
  return answer.kind === 'refused' && ended ? { kind: 'certificate', ...ended() } : answer
}

/** `called`: whether there may be news, again and again; false once the time is over or its client has gone. */
type Seat = { called(): Promise<boolean>; isTimeOver(): boolean; giveUp(): void; leave(): void }

function createWaitingRoom() {
  const byHostname = new Map<Hostname, Set<() => void>>()
  const byClient = new Map<string, number>()
  let size = 0

  /** `client`: whose seats are counted, if anybody's. */
  const enter = (hostname: Hostname, client: string | undefined): Seat | undefined => {
    const ofClient = client === undefined ? 0 : (byClient.get(client) ?? 0)
    if (size >= WAITING_MAX || ofClient >= WAITING_PER_CLIENT_MAX) return undefined
    size += 1
    if (client !== undefined) byClient.set(client, ofClient + 1)
    let isOver = false
    let next = Promise.withResolvers<void>()
    const wake = () => next.resolve()
    const called = async () => {
      await next.promise
      next = Promise.withResolvers()
      return !isOver
    }
    const giveUp = () => {
      isOver = true
      wake()
    }
    let isTimeOver = false
    const timer = setTimeout(() => {
      isTimeOver = true
      giveUp()
    }, WAIT_MS_MAX)
    const seats = byHostname.get(hostname) ?? new Set()
    byHostname.set(hostname, seats.add(wake))
    const leave = () => {
      clearTimeout(timer)
      size -= 1
      seats.delete(wake)
      if (seats.size === 0) byHostname.delete(hostname)
      if (client === undefined) return
      const left = (byClient.get(client) ?? 1) - 1
      if (left > 0) byClient.set(client, left)
      else byClient.delete(client)
    }
    return { called, isTimeOver: () => isTimeOver, giveUp, leave }
  }

  return {
    enter,
    size: () => size,
    holds: (hostname: Hostname) => byHostname.has(hostname),
    call(hostname: Hostname) {
      for (const wake of byHostname.get(hostname) ?? []) wake()
    },
    callAll() {
      for (const seats of byHostname.values()) for (const wake of seats) wake()
    },
  }
}
