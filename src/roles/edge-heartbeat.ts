import { hostname } from 'node:os'
import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import { beatEdge } from '../core/edges.ts'
import { saysDatabaseIsAway } from '../errors.ts'
import type { Log } from '../log.ts'
import { OWN_VERSION } from '../own-version.ts'
import type { Reached, Vitals } from '../replica/acknowledgements.ts'
import type { CopyTotals } from '../replica/copy-writer.ts'
import type { CopyServer } from '../replica/server.ts'
import { keepEdgeId } from './edge-id.ts'

export type EdgeHeartbeatParts = {
  db: Db
  config: Pick<Config, 'dataDir' | 'edgeName' | 'edgeAddress'>
  log: Log
  applied: CopyServer['applied']
  count(): Pick<CopyTotals, 'routes' | 'certificates'>
  now: () => number
}

export type EdgeHeartbeat = {
  /** When the last beat was written, and how far behind copy and processes are together; undefined before the first, and where no edge process is. */
  report(): { name: string; address: string | undefined; saidAgoMs: number; behindMs: number } | undefined
  stop(): Promise<void>
}

const BEAT_INTERVAL_MS = 2_000
const IDLE: Vitals = { connections: 0, load: 0 }

/**
 * Says every two seconds how this edge stands, from when its first process serves. A beat that fails is not repeated: the next one says more.
 * While the database is away nothing is said of it here, since the follower does.
 */
export function startEdgeHeartbeat(parts: EdgeHeartbeatParts): EdgeHeartbeat {
  const { db, config, log, now } = parts
  const startedAt = performance.now()
  const name = config.edgeName ?? hostname()
  const behindMs = ({ asOfMs }: Reached) => Math.max(0, now() - asOfMs)
  let id: string | undefined
  let saidAt: number | undefined
  let isEdge = false
  let failing = false
  let sending: Promise<void> | undefined

  const send = async (): Promise<void> => {
    const { reached, edge } = parts.applied()
    if (edge) isEdge = true
    if (!isEdge || !reached) return
    id ??= keepEdgeId(config, log)
    const said = { id, name, address: config.edgeAddress, version: OWN_VERSION, place: reached.cursor }
    const measured = { behindMs: behindMs(reached), runsForMs: performance.now() - startedAt, ...parts.count(), ...(edge ?? IDLE) }
    await beatEdge(db, { ...said, ...measured })
    failing = false
    saidAt = performance.now()
  }
  const beat = async (): Promise<void> => {
    try {
      await send()
    } catch (error) {
      const isAway = saysDatabaseIsAway(error)
      if (!isAway && !failing) log.warn({ reason: (error as Error).message }, 'this edge cannot say how it stands')
      failing ||= !isAway
    }
  }
  const timer = setInterval(() => {
    sending ??= beat().finally(() => (sending = undefined))
  }, BEAT_INTERVAL_MS)

  return {
    report() {
      const { reached } = parts.applied()
      if (saidAt === undefined || !reached) return undefined
      return { name, address: config.edgeAddress, saidAgoMs: Math.round(performance.now() - saidAt), behindMs: behindMs(reached) }
    },
    async stop() {
      clearInterval(timer)
      await sending
    },
  }
}
