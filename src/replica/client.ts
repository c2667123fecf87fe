import { connect, type Socket } from 'node:net'
import type { Hostname } from '../hostname.ts'
import { backOffMs, pause } from '../lib/back-off.ts'
import { createOnce } from '../lib/once.ts'
import type { Vitals } from './acknowledgements.ts'
import type { CopyStatus } from './copy-status.ts'
import { carryLines, encodeLine, type Lines } from './lines.ts'
import {
  type CertificateRequestAnswer,
  type FromFollower,
  KEYS_PER_PUSH_MAX,
  LINE_BYTES_MAX,
  type RouteAnswer,
  type ToFollower,
} from './messages.ts'
import type { ChangedKeys } from './rows.ts'

export type FollowerEvents = {
  /** The copy holds news of these keys already. */
  onChanged(keys: ChangedKeys): void
  /** On each connection, at its loss, and whenever the copy was replaced: whatever is remembered may be stale. */
  onReset(): void
  /** Of an edge process: what it says of its work with each confirmation. */
  vitals?(): Vitals
}

export type FollowerLink = {
  /** Never rejects; `unavailable` after 2 s, and at once while there is no connection. */
  findRoute(hostname: Hostname): Promise<RouteAnswer>
  /** Never rejects; resolves once the wish is stored, or is `refused` after 5 s, and at once while there is no connection. */
  requestCertificate(hostname: Hostname): Promise<CertificateRequestAnswer>
  /** Says that somebody wants an unverified hostname; passed on once in 10 s for each hostname, and dropped while there is no connection. */
  visitorCame(hostname: Hostname): void
  /** Says that these names of a bounded copy are in use; dropped while there is no connection. */
  hostnamesUsed(hostnames: readonly Hostname[]): void
  /** Says that the copy could not be read: the follower looks at the whole file and replaces it if need be. */
  copyDamaged(sentence: string): void
  /** `lagMs` goes on growing while nothing is heard. */
  status(): CopyStatus & { connected: boolean }
  /** Resolves when the follower was first heard, or after `ms`. */
  firstHeard(ms: number): Promise<void>
  close(): void
}

const FIND_ROUTE_TIMEOUT_MS = 2_000
const REQUEST_CERTIFICATE_TIMEOUT_MS = 5_000
const RECONNECT = { firstMs: 20, maxMs: 1_000 }
const REQUESTS_WAITING_MAX = 256
const VISIT_REPEAT_MS = 10_000
const VISITS_REMEMBERED_MAX = 1_000
const LIMITS = { lineBytesMax: LINE_BYTES_MAX, queueBytesMax: 1024 * 1024 }

type Asked = Extract<ToFollower, { id: number }>
type Waiting = { settle(answer: RouteAnswer | CertificateRequestAnswer | undefined): void }

/** Keeps a connection to the follower of this machine, from now until `close()`, and starts afresh whenever it is lost. */
export function connectToFollower(socketPath: string, events: FollowerEvents): FollowerLink {
  const waiting = new Map<number, Waiting>()
  let socket: Socket | undefined
  let lines: Lines | undefined // only between hello and the loss of the connection
  let heard: { status: CopyStatus; at: number } = {
    status: { lagMs: Number.MAX_SAFE_INTEGER, complete: false, asOfMs: 0 },
    at: performance.now(),
  }
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let asked = 0
  let damage: string | undefined // told anew to each follower that comes, until it says that the copy was replaced
  const met = Promise.withResolvers<void>()

  const open = (): void => {
    const opening = connect(socketPath)
    socket = opening
    const carried = carryLines(opening, LIMITS, (message) => receive(message as FromFollower, carried))
    opening.on('error', () => {}) // 'close' follows
    opening.on('close', lost)
  }
  const lost = (): void => {
    if (lines) later(() => events.onReset()) // nobody tells us of changes any more, and the follower does not wait for us
    lines = undefined
    for (const request of waiting.values()) request.settle(undefined)
    if (closed) return
    failures += 1
    timer = setTimeout(open, backOffMs(failures, RECONNECT))
  }
  const receive = (message: FromFollower, carried: Lines): void => {
    switch (message.type) {
      case 'hello':
        lines = carried
        failures = 0
        heard = { status: message.status, at: performance.now() }
        later(() => events.onReset())
        confirm(message.mark, carried)
        tellDamage()
        met.resolve()
        break
      case 'status':
        heard = { status: message.status, at: performance.now() }
        confirm(message.mark, carried)
        break
      case 'changed':
        later(() => events.onChanged(message.keys))
        break
      case 'reset':
        damage = undefined
        later(() => events.onReset())
        break
      case 'answer':
        waiting.get(message.id)?.settle(message.answer)
    }
  }
  // Not at once: whoever awaits an answer that came in the same chunk must have put it in memory before the news that ends it.
  const later = (tell: () => void): void => {
    setImmediate(() => {
      if (!closed) tell()
    })
  }
  // Behind all that was to be told before.
  const confirm = (mark: number | undefined, to: Lines): void => {
    if (mark !== undefined) later(() => to.send(encodeLine({ type: 'applied', mark, vitals: events.vitals?.() } satisfies ToFollower)))
  }
  const tellDamage = (): void => {
    if (damage !== undefined) lines?.send(encodeLine({ type: 'copy-damaged', sentence: damage } satisfies ToFollower))
  }
  const ask = (type: Asked['type'], hostname: Hostname, timeoutMs: number): Promise<unknown> => {
    if (!lines || waiting.size >= REQUESTS_WAITING_MAX) return Promise.resolve(undefined)
    const id = asked++
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const settle = (answer: unknown) => {
      clearTimeout(deadline)
      waiting.delete(id)
      resolve(answer)
    }
    const deadline = setTimeout(settle, timeoutMs, undefined)
    waiting.set(id, { settle })
    lines.send(encodeLine({ type, id, hostname } satisfies Asked))
    return promise
  }

  const routes = createOnce<Hostname, RouteAnswer>()
  const certificates = createOnce<Hostname, CertificateRequestAnswer>()
  const isRepeated = createVisitMemory()
  open()

  return {
    findRoute: (hostname) =>
      routes(
        hostname,
        async () => ((await ask('find-route', hostname, FIND_ROUTE_TIMEOUT_MS)) as RouteAnswer | undefined) ?? { kind: 'unavailable' },
      ),
    requestCertificate: (hostname) =>
      certificates(hostname, async () => {
        const answer = await ask('request-certificate', hostname, REQUEST_CERTIFICATE_TIMEOUT_MS)
        return (
          (answer as CertificateRequestAnswer | undefined) ?? { kind: 'refused', reason: 'a certificate cannot be asked for at the moment' }
        )
      }),
    visitorCame(hostname) {
      if (lines && !isRepeated(hostname)) lines.send(encodeLine({ type: 'visitor-came', hostname } satisfies ToFollower))
    },
    hostnamesUsed(hostnames) {
      // What does not fit is lost, rather than the link: these names are noted again when they are next read.
      for (let from = 0; lines?.hasRoom() && from < hostnames.length; from += KEYS_PER_PUSH_MAX) {
        const message: ToFollower = { type: 'hostnames-used', hostnames: hostnames.slice(from, from + KEYS_PER_PUSH_MAX) }
        lines.send(encodeLine(message))
      }
    },
    copyDamaged(sentence) {
      damage = sentence
      tellDamage()
    },
    status: () => ({
      ...heard.status,
      lagMs: heard.status.lagMs + Math.round(performance.now() - heard.at),
      connected: lines !== undefined,
    }),
    async firstHeard(ms) {
      const patience = new AbortController()
      await Promise.race([met.promise, pause(ms, patience.signal)])
      patience.abort()
    },
    close() {
      closed = true
      clearTimeout(timer)
      socket?.destroy()
    },
  }
}

/** Whether this hostname was seen in the last ten seconds, or so many others were that this one must wait its turn. */
function createVisitMemory(): (hostname: Hostname) => boolean {
  const recent = new Set<Hostname>()
  let since = 0
  return (hostname) => {
    const now = performance.now()
    if (now - since > VISIT_REPEAT_MS) {
      recent.clear()
      since = now
    }
    if (recent.has(hostname) || recent.size >= VISITS_REMEMBERED_MAX) return true
    recent.add(hostname)
    return false
  }
}
