import { pause } from './lib/back-off.ts'
import type { Log } from './log.ts'
import { type Generation, type Launch, type Successor, startSuccessor } from './succession.ts'
import type { DeployRecord } from './supervisor-record.ts'

export type DeploysParts = {
  /** What this supervisor runs itself. */
  own: Generation
  launch: Launch
  env: Readonly<Record<string, string | undefined>>
  inheritance: Omit<Parameters<typeof startSuccessor>[2], 'hasDatabase'>
  /** Told of each reload and upgrade when it begins and when it ends; never throws. */
  record(deploy: DeployRecord): void
  log: Log
}

export type Deploys = {
  /** Replaces every process that serves. */
  reload(): Promise<void>
  /** Lets the program on disk take over; whatever goes wrong before it serves leaves the present one in its place. */
  upgrade(): Promise<void>
  /** Resolves when the successor in charge has ended, though nobody asked. */
  lost: Promise<{ reason: string }>
  /** Ends everything, whoever is in charge. */
  stop(atOnce: AbortSignal): Promise<void>
}

const STOPPED = 'the service was stopped meanwhile'
const UPGRADE_TIMEOUT_MS = 300_000 // a loaded machine takes its time, and meanwhile the present processes serve
const HANDOVER_TIMEOUT_MS = 30_000 // meanwhile nobody follows the feed, and the new follower only waits for the copy

/** What the operator asks for while the service runs, one at a time: a second wish while the first is under way is refused. */
export function createDeploys(parts: DeploysParts): Deploys {
  const { log } = parts
  const lost = Promise.withResolvers<{ reason: string }>()
  let inCharge = parts.own
  let candidate: Successor | undefined
  let retiring: Generation | undefined
  let takingOver: Promise<unknown> = Promise.resolve()
  let busy = false
  let stopping = false
  let number = 0

  const once = async (kind: DeployRecord['kind'], perform: () => Promise<Pick<DeployRecord, 'state' | 'sentence'>>) => {
    if (busy || stopping) return log.warn(`${kind}: refused, since a reload, an upgrade or the stop is under way already`)
    busy = true
    number += 1
    const from = inCharge.version
    const note = (now: Pick<DeployRecord, 'state' | 'sentence'>) => parts.record({ number, kind, from, to: inCharge.version, ...now })
    try {
      note({ state: 'running', sentence: 'under way' })
      const outcome = await perform()
      log[outcome.state === 'done' ? 'info' : 'error'](`${kind}: ${outcome.sentence}`)
      note(outcome)
    } catch (error) {
      note({ state: 'failed', sentence: `it went wrong: ${(error as Error).message}` })
      throw error
    } finally {
      busy = false
    }
  }

  const upgrade = async (): Promise<Pick<DeployRecord, 'state' | 'sentence'>> => {
    const former = inCharge
    const attempt = takeOver(former)
    takingOver = attempt.catch(() => {})
    const reason = await attempt
    if (stopping) return { state: 'failed', sentence: STOPPED }
    if (reason !== undefined)
      return { state: 'failed', sentence: `the present processes go on, since the new ones did not come up: ${reason}` }
    log.info(`upgrade: version ${inCharge.version} serves; the former processes let their running requests end`)
    retiring = former
    await former.retire()
    retiring = undefined
    return { state: 'done', sentence: `version ${former.version} was replaced by version ${inCharge.version}` }
  }

  /** Undefined when a successor is in charge, else why not. Then all is as before; at a stop, the former one has the database back to end it. */
  const takeOver = async (former: Generation): Promise<string | undefined> => {
    log.info(`upgrade: starting ${parts.launch.command} beside the present processes`)
    let trouble: string | undefined
    try {
      trouble = stopping ? STOPPED : await bringUp(former)
    } catch (error) {
      trouble = (error as Error).message // as when there is no memory for another process
    }
    if (trouble !== undefined) await (stopping ? former.takeCharge() : former.resume())
    return trouble
  }

  const bringUp = async (former: Generation): Promise<string | undefined> => {
    const next = startSuccessor(parts.launch, parts.env, { ...parts.inheritance, hasDatabase: former.hasDatabase })
    candidate = next
    const patience = new AbortController()
    const within = (ms: number, step: Promise<void>, what: string) => {
      const late = pause(ms, patience.signal).then(() => ({ reason: `${what} within ${ms / 1_000} seconds` }))
      return Promise.race([step.then(() => undefined), next.ended, late])
    }
    try {
      let trouble = await within(UPGRADE_TIMEOUT_MS, next.waiting, 'not')
      if (!trouble) {
        log.info('upgrade: the new processes are up; handing the local copy over')
        await former.yieldCopy()
        trouble = await within(HANDOVER_TIMEOUT_MS, next.ready, 'the local copy was not taken over')
        if (trouble && !stopping) {
          void next.yieldCopy() // the former follower waits for it, and not for all the rest to end
          await former.resume()
        }
      }
      if (trouble || stopping) {
        await next.abandon()
        return trouble?.reason ?? STOPPED
      }
      if (next.hasDatabase) await former.yieldDatabase() // else it ends with the former processes
      await next.takeCharge()
      if (stopping) return STOPPED
      inCharge = next
      void next.ended.then((ending) => {
        if (inCharge === next && !stopping) lost.resolve(ending)
      })
      return undefined
    } finally {
      patience.abort()
      candidate = undefined
    }
  }

  return {
    reload: () =>
      once('reload', async () => {
        log.info('reload: replacing every process, one after the other')
        const outcome = await inCharge.reload()
        if (outcome.kind === 'rolled') return { state: 'done', sentence: `${outcome.processes} processes were replaced` }
        if (outcome.kind === 'refused') return { state: 'failed', sentence: `nothing was replaced: ${outcome.reason}` }
        const reason = outcome.reason ? `: ${outcome.reason}` : ''
        return {
          state: 'failed',
          sentence: `what was not replaced yet stays, since the successor of ${outcome.label} did not come up${reason}`,
        }
      }),
    upgrade: () => once('upgrade', upgrade),
    lost: lost.promise,
    async stop(atOnce) {
      stopping = true
      await candidate?.abandon()
      await takingOver
      const all = new Set([inCharge, retiring ?? inCharge, parts.own]) // those that retire may still end their running requests
      await Promise.all([...all].map((one) => one.stop(atOnce)))
    },
  }
}
