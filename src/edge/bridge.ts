import { Shares } from '../lib/shares.ts'
import type { Log } from '../log.ts'
import type { ClientLoad } from './admission.ts'
import { type Held, Outage, withJitter } from './outage.ts'
import { Patience } from './patience.ts'
import type { Upstream, UpstreamFailure } from './upstream.ts'

export type BridgeParts = {
  /** For how long a request waits for its upstream, from its first attempt; 0: not at all, and no circuit opens. */
  bridgeMs: number
  log: Log
  /** Opens a connection to the upstream and keeps it for whoever needs one next. Rejects with UpstreamFailure. */
  probe(upstream: Upstream): Promise<void>
  onHeldEnd(outcome: HeldOutcome): void
}

/** A request that would wait. */
export type Waiter = {
  startedAtMs: number
  /** How often it has been held before. */
  timesHeld: number
  /** Undefined where no client's share is counted. */
  load: ClientLoad | undefined
  letGo(): void
  /** Its upstream is still away. Whoever leads elsewhere by now ends its holding. */
  lookAgain(): void
  giveUp(failure: UpstreamFailure): void
}

export type Holding = { end(): void }

export type Bridge = ReturnType<typeof createBridge>

/** What became of a request that was held: `turned-away` for want of room. */
export const HELD_OUTCOMES = ['served', 'failed', 'left', 'turned-away'] as const
export type HeldOutcome = (typeof HELD_OUTCOMES)[number]

const HELD_MAX = 1_000
const HELD_PER_PROJECT_MAX = 50
const FREE_PER_HELD_OF_PROJECT = 10
const FREE_PER_HELD_OF_CLIENT = 4
const OUTAGES_MAX = 10_000
const OUTAGE_FORGOTTEN_MS = 60_000
const SWEEP_EVERY_MS = 5_000
const PROBES_MAX = 64
const PROBES_PER_PROJECT_MAX = 2
/** A request that got no answer on a good connection is sent again more and more seldom: it may be what the application falls over. */
const SEND_AGAIN_MS = 100
const SEND_AGAIN_DOUBLINGS_MAX = 5
/** What those who are held may still hope for when the process stops. */
const DRAIN_PATIENCE_MS = 1_000

/**
 * Bridges the moments in which an upstream cannot be reached: its requests are held and sent again. Knows the upstreams that are in trouble
 * and no others, each by its pool's key, so what befalls one project's upstream never shows at another's; costs nothing while there are none.
 */
export function createBridge(parts: BridgeParts) {
  const { bridgeMs } = parts
  const outages = new Map<string, Outage>()
  const holdings = new Map<Holding, () => void>()
  const held = new Shares({ max: HELD_MAX, perOwnerMax: HELD_PER_PROJECT_MAX })
  let circuits = 0
  const probes = new Shares({ max: PROBES_MAX, perOwnerMax: PROBES_PER_PROJECT_MAX })
  let isDraining = false
  let sweeper: NodeJS.Timeout | undefined

  const tryConnect = (upstream: Upstream): Promise<void> | 'later' => {
    if (!probes.enter(upstream.owner)) return 'later'
    return parts.probe(upstream).finally(() => probes.leave(upstream.owner))
  }

  const outageParts = {
    bridgeMs,
    tryConnect,
    isBrief,
    onCircuit(state: 'opened' | 'closed', { upstream, failure }: Outage) {
      circuits += state === 'opened' ? 1 : -1
      const about = { project: upstream.owner, upstream: `${upstream.host}:${upstream.port}` }
      if (state === 'opened') parts.log.warn({ ...about, reason: failure.reason }, 'an upstream stays down: its requests get 502 at once')
      else parts.log.info(about, 'an upstream is back')
    },
    onEnd: forget,
  }

  function forget(outage: Outage): void {
    outage.stop()
    if (outage.state === 'open') circuits -= 1
    outages.delete(outage.upstream.key)
    if (outages.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  const sweep = () => {
    const longAgoMs = performance.now() - OUTAGE_FORGOTTEN_MS
    for (const outage of outages.values()) if (!outage.isAwaited && outage.askedAtMs < longAgoMs) forget(outage)
  }

  const outageOf = (upstream: Upstream, failure: UpstreamFailure): Outage | undefined => {
    const known = outages.get(upstream.key)
    if (known || outages.size >= OUTAGES_MAX) return known
    const outage = new Outage(upstream, failure, outageParts)
    outages.set(upstream.key, outage)
    sweeper ??= setInterval(sweep, SWEEP_EVERY_MS).unref()
    return outage
  }

  /** The more places are taken, the fewer has each project and each client, so that some stay free for whoever comes next (as in place-shares.ts). */
  const mayHaveMore = (owner: string, load: ClientLoad | undefined): boolean => {
    const free = HELD_MAX - held.count
    return held.countOf(owner) * FREE_PER_HELD_OF_PROJECT < free && (!load || load.held * FREE_PER_HELD_OF_CLIENT < free)
  }

  const hold = (outage: Outage, waiter: Waiter, failure?: UpstreamFailure): Holding | undefined => {
    const nowMs = performance.now()
    const leftMs = waiter.startedAtMs + bridgeMs - nowMs
    if (isDraining || leftMs <= 0) return undefined
    const { owner } = outage.upstream
    const { load } = waiter
    if (!mayHaveMore(owner, load) || !held.enter(owner)) {
      if (waiter.timesHeld === 0) parts.onHeldEnd('turned-away') // who was held before is counted by its end
      return undefined
    }
    if (load) load.held += 1
    const doublings = Math.min(waiter.timesHeld, SEND_AGAIN_DOUBLINGS_MAX)
    const readyAtMs = failure ? nowMs + withJitter(SEND_AGAIN_MS * 2 ** doublings) : 0
    const giveUp = () => {
      holding.end()
      waiter.giveUp(failure ?? outage.failure)
    }
    let stop = new Patience(leftMs).wait(giveUp)
    const entry: Held = {
      readyAtMs,
      letGo() {
        holding.end()
        waiter.letGo()
      },
      lookAgain: () => waiter.lookAgain(),
    }
    const holding: Holding = {
      end() {
        if (!holdings.delete(holding)) return
        stop()
        held.leave(owner)
        if (load) load.held -= 1
        outage.release(entry)
      },
    }
    holdings.set(holding, () => {
      stop()
      stop = new Patience(Math.min(DRAIN_PATIENCE_MS, waiter.startedAtMs + bridgeMs - performance.now())).wait(giveUp)
    })
    outage.hold(entry)
    return holding
  }

  return {
    /** What is known of the upstream; undefined while it is well, as nearly all are nearly always. */
    outageOf(upstream: Upstream): Outage | undefined {
      if (outages.size === 0) return undefined
      const outage = outages.get(upstream.key)
      if (outage) outage.askedAtMs = performance.now()
      return outage
    },
    /** Waits with the others for an upstream that cannot be connected to. Undefined: it cannot be waited for any more, or there is no room. */
    holdFor: (outage: Outage, waiter: Waiter) => hold(outage, waiter),
    /** Notes that no connection could be had. */
    connectFailed(upstream: Upstream, failure: UpstreamFailure): Outage | undefined {
      if (bridgeMs === 0 || !isBrief(failure)) return undefined
      const outage = outageOf(upstream, failure)
      outage?.connectFailed(failure)
      return outage
    },
    /** As holdFor, for a request that got no answer on a connection that stood: it alone is held, the upstream may be well for others. */
    holdAlone(upstream: Upstream, waiter: Waiter, failure: UpstreamFailure): Holding | undefined {
      const outage = bridgeMs === 0 ? undefined : outageOf(upstream, failure)
      const holding = outage && hold(outage, waiter, failure)
      if (outage && !holding && outage.state === 'shaky' && !outage.isAwaited) forget(outage)
      return holding
    },
    /** Notes that an answer came. */
    succeeded(upstream: Upstream): void {
      if (outages.size > 0) outages.get(upstream.key)?.succeeded()
    },
    heldEnded: parts.onHeldEnd,
    counts: () => ({ held: held.count, outages: outages.size, circuits }),
    /** Holds nobody any more; who waits already is answered within a second. */
    drain() {
      isDraining = true
      for (const hurry of holdings.values()) hurry()
    },
    destroy() {
      isDraining = true
      for (const outage of outages.values()) outage.stop()
      for (const holding of [...holdings.keys()]) holding.end()
      outages.clear()
      clearInterval(sweeper)
    },
  }
}

/** Whether the upstream may be back in a moment: nobody there, no way to it, no answer to our knocking, or a resolver that says "later". */
function isBrief({ reason, cause }: UpstreamFailure): boolean {
  if (reason === 'dns') return (cause as NodeJS.ErrnoException | undefined)?.code === 'EAI_AGAIN'
  return reason === 'refused' || reason === 'unreachable' || reason === 'timeout' || reason === 'reset'
}
