import type { Hostname } from '../hostname.ts'
import { backOffMs, pause } from '../lib/back-off.ts'
import type { Log } from '../log.ts'
import type { Reached } from './acknowledgements.ts'
import { createCatchUp, NoRoomError } from './catch-up.ts'
import type { CopySource } from './copy-source.ts'
import { type CopyStatus, missIsFinal } from './copy-status.ts'
import type { CopyWriter } from './copy-writer.ts'
import { createDatabaseLookups, type Found } from './database-lookups.ts'
import { createLagAlarm } from './lag-alarm.ts'
import type { RouteAnswer } from './messages.ts'
import type { ChangedKeys } from './rows.ts'

/** Who is told: the server of `server.ts`. */
export type Audience = { changed(keys: ChangedKeys): void; reset(): void; heartbeat(status: CopyStatus, reached?: Reached): void }

export type FollowerParts = {
  source: CopySource
  writer: CopyWriter
  settingNames: readonly string[]
  /** Names that a bounded copy never lets go: the service's own hosts. */
  pinned?: readonly Hostname[]
  log: Log
  now: () => number
}

export type FollowerReport = CopyStatus & {
  snapshots: number
  damages: number
  promotions: number
  changes: number
  lookups: number
  lookupsTurnedAway: number
  trouble: string | undefined
}

export type Follower = {
  /** Begins to follow; without an audience only the copy is kept. */
  start(audience?: Audience): void
  /** For a process that missed in the copy: final when the copy is fresh and complete, else from the database within bounds. Never rejects. */
  findRoute(hostname: Hostname): Promise<RouteAnswer>
  /** Processes have used these names: others leave a bounded copy before them. */
  hostnamesUsed(hostnames: readonly Hostname[]): void
  /** A reader met damage: the whole file is looked through, and replaced by a snapshot when that confirms it. */
  copyDamaged(sentence: string): void
  status(): CopyStatus
  report(): FollowerReport
  /** Ends what runs; the writer is the caller's to close. */
  stop(): Promise<void>
}

const POLL_INTERVAL_MS = 1_000
const HEARTBEAT_INTERVAL_MS = 1_000
const CHECK_INTERVAL_MS = 24 * 3_600_000
const FIRST_CHECK_AFTER_MS = 30_000 // it reads the whole file, which must not hold up a start
const FAILURES_SAID = 4 // in a row: a database that starts beside us is no trouble
const NO_ROOM_RETRY_MS = 60_000 // each try fills the disk, and PostgreSQL's files may be on the same one
const RETRY = { firstMs: 100, maxMs: 1_000 } // longer, and a fleet whose database is back would not agree within 5 s

/**
 * The only part of a machine that follows the change feed. It reads at once when hinted and each second anyway, brings each changed key's
 * current row into the copy, then tells the machine's processes. Failures are retried (100 ms up to 1 s); meanwhile the copy serves and its lag grows.
 */
export function createFollower(parts: FollowerParts): Follower {
  const { source, writer, log, now } = parts
  const stopping = new AbortController()
  const wake = createWake()
  const put = ({ hostname, routes, certificates }: Found): void => {
    const usedAtMs = now()
    const names = new Set([hostname, ...routes.map((route) => route.hostname)])
    writer.apply({ routes, certificates, known: [...names].map((name) => ({ hostname: name, usedAtMs })) })
    catchUp.lookedUp([...names])
  }
  const lookups = createDatabaseLookups({
    findRoutes: (hostnames) => source.findRoutes(hostnames),
    ...(writer.hostnamesMax > 0 && { keep: { findCertificates: (hostnames) => source.findCertificates(hostnames), put } }),
    now,
  })
  let audience: Audience | undefined
  const writtenMs = writer.state().asOfMs
  let asOfMs = writtenMs > now() ? 0 : writtenMs // from before the machine's clock was set back: of any age
  let reached: Reached | undefined
  let failures = 0
  let isSaid = false
  let snapshots = 0
  let damages = 0
  let promotions = 0
  let changes = 0
  let trouble: string | undefined
  let stop = async (): Promise<void> => {}
  let checking = false
  let isDoubted = false

  const status = (): CopyStatus => ({ lagMs: Math.max(0, now() - asOfMs), complete: writer.state().complete, asOfMs })

  const onChanged = (keys: ChangedKeys): void => {
    for (const kind of Object.values(keys)) changes += kind.length
    lookups.changed(keys.projects.length > 0 ? 'all' : keys.routes)
    // Not at once: an answer that a look-up found before this change must leave before the news of it.
    setImmediate(() => audience?.changed(keys))
  }
  const onReplaced = (reason: string): void => {
    snapshots += 1
    lookups.changed('all')
    log.info({ reason }, 'the local copy was built anew')
    setImmediate(() => audience?.reset())
  }
  const onPromoted = (keys: number): void => {
    promotions += 1
    log.warn({ keys }, 'a standby was promoted: what it may have lost was loaded again, and the local copy goes on')
  }
  const catchUp = createCatchUp({
    ...parts,
    signal: stopping.signal,
    onChanged,
    onReplaced,
    onPromoted,
    ...(writer.hostnamesMax > 0 && { onSeen: lookups.changed }),
  })

  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        asOfMs = (await catchUp.run()).asOfMs
        const { cursor } = writer.state()
        reached = cursor && { cursor, asOfMs }
        if (isSaid) log.info('following the database again')
        failures = 0
        isSaid = false
        trouble = undefined
        await wake.within(POLL_INTERVAL_MS)
      } catch (error) {
        if (stopping.signal.aborted) return
        failures += 1
        trouble = (error as Error).message
        const hasNoRoom = error instanceof NoRoomError
        if (hasNoRoom || failures === FAILURES_SAID || failures % 10 === 0) sayBehind(failures)
        await pause(hasNoRoom ? NO_ROOM_RETRY_MS : backOffMs(failures, RETRY), stopping.signal)
      }
    }
  }

  const sayBehind = (failures: number) => {
    isSaid = true
    const asOf = writer.state().cursor && asOfMs > 0 ? { asOf: new Date(asOfMs).toISOString() } : {}
    log.warn({ failures, reason: trouble, ...asOf }, 'the local copy cannot follow the database')
  }

  const check = async (): Promise<void> => {
    if (checking) return
    checking = true
    // What a reader stumbled over may be a row that is not where an index has it, which a look at the structure passes by.
    const depth = isDoubted ? 'indexes' : 'structure'
    isDoubted = false
    const outcome = await writer.check(depth, stopping.signal)
    checking = false
    if (isDoubted && outcome.kind === 'sound') void check()
    if (outcome.kind === 'damaged') giveUp(outcome.sentence)
    if (outcome.kind === 'unknown' && writer.state().cursor && !stopping.signal.aborted)
      log.warn({ reason: outcome.sentence }, 'the local copy could not be checked for damage')
  }
  const giveUp = (reason: string): void => {
    damages += 1
    log.error({ reason }, 'the local copy is damaged and will be built anew')
    audience?.heartbeat(status())
    wake.now()
  }

  /** Uses from before the machine's clock was set back would keep names in a bounded copy, and all newer ones out, until it has caught up. */
  const capUses = (): void => {
    if (writer.hostnamesMax === 0) return
    try {
      writer.capUses(now())
    } catch {
      wake.now() // as in hostnamesUsed
    }
  }

  const start = (heard?: Audience): void => {
    audience = heard
    capUses()
    const hints = source.listen(() => wake.now())
    const alarm = createLagAlarm(log)
    const beat = () => {
      const gone = writer.look()
      if (gone) giveUp(gone)
      const told = reached
      setImmediate(() => audience?.heartbeat(status(), told)) // behind the news of what was applied up to there
      const hasLooked = reached !== undefined || isSaid // a copy from before the start is behind until then
      if (hasLooked && writer.state().cursor) alarm(status())
    }
    beat()
    const timers = [setInterval(beat, HEARTBEAT_INTERVAL_MS), setInterval(() => void check(), CHECK_INTERVAL_MS)]
    timers.push(setTimeout(() => void check(), FIRST_CHECK_AFTER_MS))
    const following = follow()
    stop = async () => {
      for (const timer of timers) clearInterval(timer)
      stopping.abort()
      wake.now()
      await Promise.all([hints.stop(), following])
    }
  }

  return {
    start,
    async findRoute(hostname) {
      try {
        const route = writer.findRoute(hostname)
        if (route) return { kind: 'route', route }
      } catch {
        wake.now() // the writer has given the copy up
      }
      return missIsFinal(status()) ? { kind: 'unknown' } : lookups.find(hostname)
    },
    hostnamesUsed(hostnames) {
      if (writer.hostnamesMax === 0) return
      const usedAtMs = now()
      try {
        writer.use(hostnames.map((hostname) => ({ hostname, usedAtMs })))
      } catch {
        wake.now() // a full disk, or damage: it is a hint, and whoever follows meets the same and says so
      }
    },
    copyDamaged(sentence) {
      log.warn({ reason: sentence }, 'a process could not read the local copy')
      isDoubted = true
      void check()
    },
    status,
    report() {
      const { asked, turnedAway } = lookups.counts()
      return { ...status(), snapshots, damages, promotions, changes, lookups: asked, lookupsTurnedAway: turnedAway, trouble }
    },
    stop: () => stop(),
  }
}

/** Hints that come while nobody waits are kept: the next wait then ends at once. */
function createWake() {
  let hinted = false
  let waiting: AbortController | undefined
  return {
    now() {
      hinted = true
      waiting?.abort()
    },
    async within(ms: number): Promise<void> {
      waiting = new AbortController()
      if (!hinted) await pause(ms, waiting.signal)
      hinted = false
    },
  }
}
