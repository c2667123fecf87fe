import { AggregatorRegistry, type MetricObject } from 'prom-client'
import { createInternalApp, type InternalAppParts } from '../api/certificate-check.ts'
import { leave, listen } from '../api/listen.ts'
import { saysDatabaseIsAway } from '../errors.ts'
import { pause } from '../lib/back-off.ts'
import type { RoleContext } from './role.ts'

type Finder = InternalAppParts['finder']

const CHECK_MS_MAX = 2_000

/**
 * Serves the internal address, if this process was given it: `/ready` and `/metrics` of the whole tree, and the certificate check.
 * In a tree with a follower this is that and the api (else the worker), so that somebody answers while the database is away and while a
 * follower hands the local copy over; whichever is asked answers for all. A tree that takes over from another begins with it when it is in charge.
 */
export async function serveInternal(context: RoleContext, finder: InternalAppParts['finder']): Promise<{ stop(): Promise<void> }> {
  const on = context.listen.internal
  if (!on) return { stop: async () => {} }
  const app = createInternalApp({
    log: context.log,
    baseUrl: context.config.baseUrl,
    finder,
    roles: rolesOf(context),
    async readiness(asked) {
      const processes = (await context.gather(asked)).filter(({ role }) => asked === undefined || role === asked)
      const shown = processes.map(({ role, pid, ready, details }) => ({ role, pid, ready, ...details }))
      const serve = processes.filter(({ ready }) => ready).length
      return { ready: serve > 0 && (asked !== undefined || serve === processes.length), details: { processes: shown } }
    },
    async metrics() {
      const reports = await context.gather()
      if (reports.length === 0) return undefined // a supervisor that answers has reports, of what is down too
      return AggregatorRegistry.aggregate(reports.map(({ metrics }) => metrics as MetricObject[])).metrics()
    },
  })
  if (!context.inCharge) {
    await listen(app, on)
    return { stop: () => leave(app) }
  }
  let listening: Promise<unknown> | undefined
  let stopped = false
  void context.inCharge.then(() => {
    if (!stopped)
      listening = listen(app, on).catch((err: unknown) => context.log.error({ err }, 'the internal address is not answered from here'))
  })
  return {
    async stop() {
      stopped = true
      await listening
      await (listening ? leave(app) : app.close())
    },
  }
}

/** Those that the tree was started with, and the follower where one of them reads the local copy. */
function rolesOf({ roles }: RoleContext): string[] {
  return roles.includes('api') || roles.includes('edge') ? [...roles, 'follower'] : [...roles]
}

/**
 * What the certificate check asks. It must not hang on the database: when `find` fails or takes longer than two seconds, the hostname is
 * not in the local copy, and that decides if the copy is complete. Rejects as `find` does when it is not.
 */
export function certificateFinder(find: Finder['findInCopy'], copyIsComplete: () => boolean): Finder {
  return {
    async findInCopy(hostname) {
      const found = find(hostname)
      if (!copyIsComplete()) return found
      const patience = new AbortController()
      const late = pause(CHECK_MS_MAX, patience.signal).then(() => undefined)
      return Promise.race([found.catch(unlessUnavailable), late]).finally(() => patience.abort())
    },
  }
}

function unlessUnavailable(error: unknown): undefined {
  if (!saysDatabaseIsAway(error)) throw error
}
