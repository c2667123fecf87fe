import { Members } from '../lib/members.ts'
import { LastAnswerHead } from './last-answer-head.ts'
import { startLooks } from './looks.ts'
import { type Upstream, UpstreamFailure, type UpstreamPoolParts } from './upstream.ts'
import { UpstreamConnection } from './upstream-connection.ts'
import { UpstreamLine, type Waiter } from './upstream-line.ts'
import { type Asking, keepToShare } from './upstream-share.ts'
import { UpstreamSurplus } from './upstream-surplus.ts'

const CONNECTIONS_PER_UPSTREAM_MIN = 1_024
/** Of the visitors. A stream of events, or a long poll, holds one each. */
const CONNECTIONS_PER_VISITOR = 0.5
const CLOSED_AT_ONCE = 64
const LOOK_EVERY_MS_MAX = 1_000
const LOOKS_PER_TIMEOUT = 10

type Pool = { open: number; idle: UpstreamConnection[]; waiting: UpstreamLine<UpstreamConnection>; lastHead: LastAnswerHead }

export type UpstreamPools = ReturnType<typeof createUpstreamPools>

/**
 * Keep-alive connections to upstreams. The one used last is used next, so that what is not needed falls idle and closes. Everything is
 * bounded: connections and waiting requests per upstream, idle connections in all, and all connections by the room. A pool disappears with its
 * last connection.
 */
export function createUpstreamPools({ connect, room, timeouts, turn, visitorsMax }: UpstreamPoolParts & { visitorsMax: number }) {
  const wanted = Math.max(CONNECTIONS_PER_UPSTREAM_MIN, visitorsMax * CONNECTIONS_PER_VISITOR)
  const connectionsMax = Math.floor(Math.min(wanted, room.perProjectMax))
  const pools = new Map<string, Pool>()
  const surplus = new UpstreamSurplus()
  let idle = 0
  let isDestroyed = false
  const opened = new Members<UpstreamConnection>()
  const lookEveryMs = Math.min(LOOK_EVERY_MS_MAX, Math.min(...Object.values(timeouts)) / LOOKS_PER_TIMEOUT)
  // One timer for all deadlines: one each would cost more than reading an answer.
  const looks = startLooks(lookEveryMs, (nowMs) => {
    for (const connection of opened.all()) connection.look(nowMs)
  })

  const poolOf = ({ key }: Upstream): Pool => {
    const known = pools.get(key)
    if (known) return known
    const pool: Pool = { open: 0, idle: [], waiting: new UpstreamLine(), lastHead: new LastAnswerHead() }
    pools.set(key, pool)
    return pool
  }

  const takeIdle = (pool: Pool): UpstreamConnection | undefined => {
    for (let connection = pool.idle.pop(); connection; connection = pool.idle.pop()) {
      idle -= 1
      if (connection.isUsable) return connection
      connection.close()
    }
    return undefined
  }

  const open = async (upstream: Upstream, pool: Pool, load?: Asking['load']): Promise<UpstreamConnection> => {
    try {
      return await openCounted(upstream, pool, load)
    } catch (error) {
      leave(upstream, pool, error)
      throw error
    }
  }

  const openFor = async (waiter: Waiter<UpstreamConnection>, upstream: Upstream, pool: Pool): Promise<void> => {
    try {
      waiter.resolve(await openCounted(upstream, pool))
    } catch (error) {
      const idle = isBusy(error) ? takeIdle(pool) : undefined
      if (idle) waiter.resolve(idle)
      else if (isBusy(error) && pool.open > 1) pool.waiting.putBack(waiter)
      else waiter.reject(error)
      leave(upstream, pool, error)
    }
  }

  /** It counts from now on, also where it cannot be opened, until it leaves. */
  const openCounted = async (upstream: Upstream, pool: Pool, load?: Asking['load']): Promise<UpstreamConnection> => {
    pool.open += 1
    const close = () => {
      opened.delete(place)
      forget(connection)
    }
    const { lastHead } = pool
    const socket = await connect(upstream, load)
    if (isDestroyed) socket.destroy()
    const connection = new UpstreamConnection(socket, upstream, timeouts, { free, close, turn, lastHead, surplus })
    const place = opened.add(connection)
    return connection
  }

  /** `failure`: why it could not be opened. */
  const leave = (upstream: Upstream, pool: Pool, failure?: unknown) => {
    pool.open -= 1
    // Where no further one may be had, an attempt would only be the end of the next one's waiting for those that are open.
    const mayOpen = pool.open === 0 || (!isBusy(failure) && room.hasFor(upstream.owner))
    const waiter = mayOpen ? pool.waiting.next() : undefined
    if (waiter) void openFor(waiter, upstream, pool)
    else if (pool.open === 0) pools.delete(upstream.key)
  }

  const free = (connection: UpstreamConnection) => {
    const pool = poolOf(connection.upstream)
    const waiter = pool.waiting.next()
    if (waiter) return waiter.resolve(connection)
    connection.rest()
    pool.idle.push(connection)
    idle += 1
    if (idle > room.idleMax) closeLongestIdle()
  }

  /** Many at a time, so that looking for them is seldom. */
  const closeLongestIdle = () => {
    const byAge = opened
      .all()
      .filter(({ isResting }) => isResting)
      .sort((one, other) => one.restsSinceMs - other.restsSinceMs)
    for (const connection of byAge.slice(0, CLOSED_AT_ONCE)) connection.close()
  }

  const forget = (connection: UpstreamConnection) => {
    const pool = poolOf(connection.upstream)
    const place = pool.idle.indexOf(connection)
    if (place >= 0) {
      pool.idle.splice(place, 1)
      idle -= 1
    }
    leave(connection.upstream, pool)
  }

  return {
    /** A connection for one exchange; it comes back by itself. `fresh`: one that has carried nothing yet. Throws, or rejects with, UpstreamFailure. */
    acquire(upstream: Upstream, { fresh = false, load }: Asking = {}): UpstreamConnection | Promise<UpstreamConnection> {
      const pool = poolOf(upstream)
      keepToShare(load, pool.open - pool.idle.length, connectionsMax)
      const idle = fresh ? undefined : takeIdle(pool)
      if (idle) return idle
      const mayOpen = fresh || pool.open === 0 || (pool.open < connectionsMax && room.hasFor(upstream.owner))
      return mayOpen ? open(upstream, pool, load) : pool.waiting.wait(timeouts.connectMs, { load })
    },
    /** Opens a connection, which rests then until an exchange needs it. Rejects with UpstreamFailure. */
    async probe(upstream: Upstream): Promise<void> {
      free(await open(upstream, poolOf(upstream)))
    },
    counts: () => ({ pools: pools.size, connections: opened.size, idle }),
    destroy() {
      isDestroyed = true
      looks.stop()
      for (const connection of opened.all()) connection.destroy()
    },
  }
}

/** Nobody was asked: there is no room, or this machine lacks what a connection takes. */
function isBusy(failure: unknown): boolean {
  return failure instanceof UpstreamFailure && failure.reason === 'busy'
}
