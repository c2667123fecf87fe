import type { Upstream } from './upstream.ts'
import type { UpstreamHttp2Pools } from './upstream-http2-pools.ts'
import type { SlowReader, UpstreamListener } from './upstream-listener.ts'
import type { UpstreamPools } from './upstream-pools.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import type { Asking } from './upstream-share.ts'

export type UpstreamChannels = ReturnType<typeof createUpstreamChannels>

/** The way of one exchange to its upstream and back, whatever the protocol. */
export interface UpstreamChannel {
  /** Whether it looks as if a request would arrive. */
  readonly isUsable: boolean
  /** Whether the connection was kept, after another exchange or for this one: then it may have died unnoticed. */
  readonly isReused: boolean
  send(request: UpstreamRequest, listener: UpstreamListener): void
  /** No more of the answer is wanted until `resume`. While the reader still takes some of what it has, nobody waits for too long. */
  pause(reader: SlowReader): void
  resume(): void
  /** Ends the exchange wherever it is. */
  destroy(): void
  /** In place of `send`: another exchange may have it. */
  release(): void
}

/** All ways to upstreams: each is spoken to as its project says. */
export function createUpstreamChannels(http1: UpstreamPools, http2: UpstreamHttp2Pools) {
  return {
    /** A channel for one exchange. Throws, or rejects with, UpstreamFailure. */
    acquire(upstream: Upstream, asking: Asking = {}): UpstreamChannel | Promise<UpstreamChannel> {
      // Of HTTP/2 no connection that has died is kept: the next one is as good as a fresh one.
      return upstream.protocol === 'http1' ? http1.acquire(upstream, asking) : http2.acquire(upstream, asking)
    },
    /** Opens a connection and keeps it for whoever needs one next. Rejects with UpstreamFailure. */
    async probe(upstream: Upstream): Promise<void> {
      if (upstream.protocol === 'http1') return http1.probe(upstream)
      const channel = await http2.acquire(upstream)
      channel.release()
    },
    counts() {
      const [one, two] = [http1.counts(), http2.counts()]
      return { pools: one.pools + two.pools, connections: one.connections + two.connections, idle: one.idle + two.idle }
    },
    destroy() {
      http1.destroy()
      http2.destroy()
    },
  }
}
