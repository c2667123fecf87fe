import type { Socket } from 'node:net'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { ClientLoad } from '../../src/edge/admission.ts'
import { createBridge } from '../../src/edge/bridge.ts'
import { createEngine } from '../../src/edge/engine.ts'
import type { FindHost } from '../../src/edge/host.ts'
import { createEdgeMetrics } from '../../src/edge/metrics.ts'
import { createServe } from '../../src/edge/serve.ts'
import { TIMEOUTS } from '../../src/edge/timeouts.ts'
import { createTunnels } from '../../src/edge/tunnel.ts'
import { createTurn } from '../../src/edge/turn.ts'
import type { Upstream } from '../../src/edge/upstream.ts'
import { createUpstreamChannels } from '../../src/edge/upstream-channels.ts'
import { createUpstreamHttp2Pools } from '../../src/edge/upstream-http2-pools.ts'
import { createUpstreamPools } from '../../src/edge/upstream-pools.ts'
import { createUpstreamRoom } from '../../src/edge/upstream-room.ts'
import { parseHostname } from '../../src/hostname.ts'
import { createAddressSet } from '../../src/lib/addresses.ts'
import { LineBytes } from '../../src/lib/line-bytes.ts'

type MemoryEdgeParts = {
  /** Opens a way to an upstream. */
  connect(upstream: Upstream): Promise<Socket>
  findHost: FindHost
  /** Of requests, how many leave a line in the access log, which is thrown away. */
  accessLogSample: number
  load: ClientLoad
  /** For how long requests wait for an upstream that is away; by itself not at all. */
  bridgeMs?: number
}

const LOT_BYTES = 128 * 1024

/** What serves exchanges, from the engines towards visitors to the ways to upstreams, without listeners, TLS and a database: between sockets in memory. */
export function createMemoryEdge({ connect, findHost, accessLogSample, load, bridgeMs = 0 }: MemoryEdgeParts) {
  const log = pino({ enabled: false })
  const metrics = createEdgeMetrics(new Registry())
  const turn = createTurn()
  const ways = { connect, room: createUpstreamRoom(), turn, timeouts: TIMEOUTS, visitorsMax: 0 }
  const channels = createUpstreamChannels(createUpstreamPools(ways), createUpstreamHttp2Pools(ways))
  const bridge = createBridge({ bridgeMs, log, probe: channels.probe, onHeldEnd: metrics.heldEnded })
  const line = new LineBytes(2 * LOT_BYTES)
  const serving = createServe({
    log,
    accessLog: { line, ended: () => void (line.length >= LOT_BYTES && line.take()) },
    metrics,
    edgeHost: parseHostname('edge.localhost'),
    findHost,
    hostsRevision: () => 0,
    brandOf: () => undefined,
    unverifiedVisit() {},
    trustedProxies: createAddressSet([]),
    loadOf: () => load,
    accessLogSample,
    channels,
    turn,
    bridge,
    tunnels: createTunnels(TIMEOUTS.bodyIdleMs),
  })
  const engine = createEngine({ timeouts: TIMEOUTS, turn, onExchange: serving.serve, http2ErrorSent() {} }, 'own')
  return {
    serve: engine.serve,
    /** Of requests that have no end yet. */
    count: serving.count,
    upstreamCounts: channels.counts,
    drain: engine.drain,
    destroy() {
      serving.destroy()
      engine.destroy()
      bridge.destroy()
      channels.destroy()
    },
  }
}
