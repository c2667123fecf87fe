import { createFrameBuffers } from './http2/frame-buffers.ts'
import { HpackEncoder } from './http2/hpack-encoder.ts'
import { startLooks } from './looks.ts'
import { Repeatable } from './repeatable.ts'
import type { Upstream, UpstreamFailure, UpstreamPoolParts } from './upstream.ts'
import { UpstreamHttp2Connection } from './upstream-http2-connection.ts'
import { UpstreamHttp2Request } from './upstream-http2-request.ts'
import { UpstreamLine } from './upstream-line.ts'
import { type Asking, keepToShare } from './upstream-share.ts'

const CONNECTIONS_PER_UPSTREAM_MAX = 64
/** Those that take no more requests, and wait for the end of the ones they have. */
const LEAVING_PER_UPSTREAM_MAX = 192
/** What a new connection is expected to carry at least (RFC 9113 §6.5.2). */
const STREAMS_EXPECTED = 100
/** Of those, so many may go for their age: what has streams without an end keeps its connection, too. */
const AGED_PER_UPSTREAM_MAX = 64
const LOOKED_AT_EVERY_MS = 250

type Pool = {
  upstream: Upstream
  open: Set<UpstreamHttp2Connection>
  leaving: Set<UpstreamHttp2Connection>
  opening: number
  waiting: UpstreamLine<UpstreamHttp2Connection>
}

export type UpstreamHttp2Pools = ReturnType<typeof createUpstreamHttp2Pools>

/**
 * Connections of HTTP/2 to upstreams, each shared by as many requests as the upstream allows. A further one is opened when all are full.
 * Everything is bounded: connections and waiting requests per upstream, idle connections in all, and all connections by the room. A pool
 * disappears with its last connection.
 */
export function createUpstreamHttp2Pools({ connect, room, timeouts, turn }: UpstreamPoolParts) {
  const pools = new Map<string, Pool>()
  const connections = new Set<UpstreamHttp2Connection>()
  const shared = { timeouts, turn, buffers: createFrameBuffers(), encoder: new HpackEncoder() }
  const repeatable = new Repeatable()

  let isDestroyed = false
  const looks = startLooks(LOOKED_AT_EVERY_MS, (nowMs) => {
    let idle = 0
    for (const connection of connections) {
      connection.look(nowMs)
      if (connection.isIdle) idle += 1
      if (connection.isIdle && idle > room.idleMax) connection.leave()
      else if (nowMs >= connection.oldAtMs && poolOf(connection.upstream).leaving.size < AGED_PER_UPSTREAM_MAX) connection.leave()
    }
    for (const pool of pools.values()) openMore(pool) // where none could be had before, and some wait since others are there
  })

  const poolOf = (upstream: Upstream): Pool => {
    const known = pools.get(upstream.key)
    if (known) return known
    const pool: Pool = { upstream, open: new Set(), leaving: new Set(), opening: 0, waiting: new UpstreamLine() }
    pools.set(upstream.key, pool)
    return pool
  }

  const open = async (pool: Pool, load: Asking['load']): Promise<void> => {
    pool.opening += 1
    try {
      const socket = await connect(pool.upstream, load)
      if (isDestroyed) socket.destroy()
      const on = { room: () => serve(pool, connection), leaving: leave, close: forget }
      const connection = new UpstreamHttp2Connection(socket, pool.upstream, { ...shared, on })
      connections.add(connection)
    } catch (error) {
      pool.opening -= 1
      giveUp(pool, error)
    }
  }

  const serve = (pool: Pool, connection: UpstreamHttp2Connection) => {
    if (!pool.open.has(connection) && connection.isOpen) {
      pool.open.add(connection)
      pool.opening -= 1
      pool.waiting.failure = undefined
    }
    place(pool, connection, connection)
    openMore(pool)
  }

  const place = (pool: Pool, connection: UpstreamHttp2Connection, { takesBodies }: { takesBodies: boolean }) => {
    while (connection.hasRoom && pool.waiting.length > 0) {
      const waiter = pool.waiting.next({ takesBodies })
      if (!waiter) break
      connection.reserve()
      waiter.resolve(connection)
    }
  }

  /** A connection could not be opened: those who waited for it are told why, unless others are on their way or open: they wait for these, and for the next attempt. */
  const giveUp = (pool: Pool, reason: unknown) => {
    pool.waiting.failure = reason
    if (pool.open.size === 0) pool.waiting.rejectBehind(pool.opening * STREAMS_EXPECTED, reason)
    // Bodies that waited for one which is not shut have none to hope for, and do as well behind the others.
    else if (pool.opening === 0) for (const connection of pool.open) place(pool, connection, { takesBodies: true })
    if (isOver(pool)) pools.delete(pool.upstream.key)
  }

  const leave = (connection: UpstreamHttp2Connection, failure: UpstreamFailure) => {
    const pool = poolOf(connection.upstream)
    pool.leaving.add(connection)
    const wasOpen = pool.open.delete(connection)
    if (!wasOpen) pool.opening -= 1
    // One that goes without having served is as good as none: another one at once would go on for as long as somebody waits.
    if (wasOpen && connection.hasServed) openMore(pool)
    else giveUp(pool, failure)
    const [oldest] = pool.leaving
    if (pool.leaving.size > LEAVING_PER_UPSTREAM_MAX) oldest!.destroy('too many connections to the upstream wait for their last answers')
  }

  const forget = (connection: UpstreamHttp2Connection) => {
    const pool = poolOf(connection.upstream)
    connections.delete(connection)
    pool.leaving.delete(connection)
    if (isOver(pool)) pools.delete(connection.upstream.key)
  }

  const keepPoolToShare = ({ open, waiting }: Pool, load: Asking['load']) => {
    const [first] = open
    const streamsMax = first?.streamsMax || STREAMS_EXPECTED // it may allow none for a moment
    keepToShare(load, open.size * streamsMax + waiting.length, CONNECTIONS_PER_UPSTREAM_MAX * streamsMax)
  }

  const isOver = ({ open, leaving, opening, waiting }: Pool) => open.size + leaving.size + opening + waiting.length === 0

  const openMore = (pool: Pool, load?: Asking['load']) => {
    if (pool.waiting.length <= pool.opening * STREAMS_EXPECTED || pool.open.size + pool.opening >= CONNECTIONS_PER_UPSTREAM_MAX) return
    for (const { isIdle, hasRoom } of pool.open) if (isIdle && !hasRoom) return // it allows none at the moment, and would not on another one
    void open(pool, load)
  }

  const wait = (pool: Pool, asking: Asking): Promise<UpstreamHttp2Connection> => {
    const waiting = pool.waiting.wait(timeouts.connectMs * 2, asking) // to connect, and to be greeted
    openMore(pool, asking.load)
    return waiting
  }

  const find = (upstream: Upstream, asking: Asking): UpstreamHttp2Connection | Promise<UpstreamHttp2Connection> => {
    const pool = poolOf(upstream)
    keepPoolToShare(pool, asking.load)
    for (const connection of pool.open) {
      if (!connection.hasRoom || connection.isDoubtful) continue // who comes now would wait for the answer, too
      if (asking.hasBody && !connection.takesBodies) continue
      connection.reserve()
      return connection
    }
    return wait(pool, asking)
  }

  return {
    /** A place on a connection for one exchange. Throws, or rejects with, UpstreamFailure. */
    acquire(upstream: Upstream, asking: Asking = {}): UpstreamHttp2Request | Promise<UpstreamHttp2Request> {
      const request = (host: UpstreamHttp2Connection) => new UpstreamHttp2Request(host, async () => find(upstream, asking), repeatable)
      const found = find(upstream, asking)
      return found instanceof Promise ? found.then(request) : request(found)
    },
    counts: () => ({
      pools: pools.size,
      connections: connections.size,
      idle: [...connections].filter(({ isIdle }) => isIdle).length,
    }),
    destroy() {
      looks.stop()
      isDestroyed = true
      for (const connection of connections) connection.destroy()
    },
  }
}
