import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import { beatEdge } from '../core/edges.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { CopyCounts } from '../replica/copy-counts.ts'
import type { CopyServer } from '../replica/server.ts'
import { keepEdgeId } from './edge-id.ts'

export type EdgeHeartbeatParts = {
  db: Db
  config: Pick<Config, 'dataDir' | 'edgeName' | 'edgeAddress'>
  log: Log
  applied: CopyServer['applied']
  count(): CopyCounts
  now: () => number
}

const BEAT_INTERVAL_MS = 2_000

// Read at once: when the process has given root up, the file may be out of reach.
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

/**
 * Says every two seconds how this edge stands, from when its first process serves. A beat that fails is not repeated: the next one says more.
 * While the database is away nothing is said of it here, since the follower does.
 */
export function startEdgeHeartbeat(parts: EdgeHeartbeatParts): { stop(): Promise<void> } {
  const { db, config, log, now } = parts
  const startedAt = performance.now()
  let id: string | undefined
  let work = { connections: 0, load: 0 }
  let isEdge = false
  let failing = false
  let sending: Promise<void> | undefined

  const send = async (): Promise<void> => {
    const { reached, edge } = parts.applied()
    if (edge) isEdge = true
    work = edge ?? { connections: 0, load: 0 }
    if (!isEdge || !reached) return
    id ??= keepEdgeId(config, log)
    const { cursor: place, asOfMs } = reached
    const said = { id, name: config.edgeName ?? hostname(), address: config.edgeAddress, version, place }
    const measured = { behindMs: Math.max(0, now() - asOfMs), runsForMs: performance.now() - startedAt, ...parts.count(), ...work }
    await beatEdge(db, { ...said, ...measured })
    failing = false
  }
  const beat = async (): Promise<void> => {
    try {
      await send()
    } catch (error) {
      const isAway = error instanceof ServiceError && error.code === 'database_unavailable'
      if (!isAway && !failing) log.warn({ reason: (error as Error).message }, 'this edge cannot say how it stands')
      failing ||= !isAway
    }
  }
  const timer = setInterval(() => {
    sending ??= beat().finally(() => (sending = undefined))
  }, BEAT_INTERVAL_MS)

  return {
    async stop() {
      clearInterval(timer)
      await sending
    },
  }
}
