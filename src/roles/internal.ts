import { AggregatorRegistry, type MetricObject } from 'prom-client'
import { createInternalApp, type InternalAppParts } from '../api/certificate-check.ts'
import { listen } from '../api/listen.ts'
import type { RoleContext } from './role.ts'

/**
 * Serves the internal address, if this process was given it: `/ready` and `/metrics` of the whole tree, and the certificate check.
 * In every tree exactly one process is: the api if there is one, else the worker, else the follower.
 */
export async function serveInternal(context: RoleContext, finder: InternalAppParts['finder']): Promise<{ stop(): Promise<void> }> {
  const on = context.listen.internal
  if (!on) return { stop: async () => {} }
  const app = createInternalApp({
    log: context.log,
    baseUrl: context.config.baseUrl,
    finder,
    async readiness() {
      const processes = await context.gather()
      const shown = processes.map(({ role, pid, ready, details }) => ({ role, pid, ready, ...details }))
      return { ready: processes.length > 0 && processes.every(({ ready }) => ready), details: { processes: shown } }
    },
    async metrics() {
      const reports = await context.gather()
      return AggregatorRegistry.aggregate(reports.map(({ metrics }) => metrics as MetricObject[])).metrics()
    },
  })
  await listen(app, on)
  return { stop: async () => void (await app.close()) }
}
