import { Counter, Gauge, type Registry } from 'prom-client'
import { DurationHistogram } from './duration-histogram.ts'
import { FAILURE_REASONS, type FailureReason } from './upstream.ts'

export const HANDSHAKE_OUTCOMES = ['completed', 'resumed', 'validated', 'refused', 'failed', 'timeout'] as const
export type HandshakeOutcome = (typeof HANDSHAKE_OUTCOMES)[number]

export type EdgeCounts = {
  http1Connections: number
  http2Connections: number
  tunnels: number
  exchanges: number
  upstream: { pools: number; connections: number; idle: number }
}

export type EdgeMetrics = {
  requestEnded(status: number, seconds: number): void
  upstreamFailed(reason: FailureReason): void
  handshakeEnded(outcome: HandshakeOutcome): void
  /** Says where the gauges read their values when somebody looks. */
  watch(counts: () => EdgeCounts): void
}

/** By the first digit of the status; none when the visitor went before there was one. */
const CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

/** The edge's numbers in the registry, under names that begin with `namesake_edge_`. */
export function createEdgeMetrics(registry: Registry): EdgeMetrics {
  const registers = [registry]
  const answered = new Float64Array(CLASSES.length)
  new Counter({
    name: 'namesake_edge_requests_total',
    help: 'Answered requests by status class',
    labelNames: ['class'],
    registers,
    collect() {
      this.reset()
      for (const [i, label] of CLASSES.entries()) if (answered[i]! > 0) this.inc({ class: label }, answered[i]!)
    },
  })
  const seconds = new DurationHistogram({
    name: 'namesake_edge_request_seconds',
    help: 'Time from head of request to end of answer',
    buckets: SECONDS,
    registers,
  })
  const failures = new Counter({
    name: 'namesake_edge_upstream_errors_total',
    help: 'Failed exchanges by reason',
    labelNames: ['reason'],
    registers,
  })
  const handshakes = new Counter({
    name: 'namesake_edge_handshakes_total',
    help: 'TLS handshakes by outcome',
    labelNames: ['outcome'],
    registers,
  })
  const byReason = new Map(FAILURE_REASONS.map((reason) => [reason, failures.labels(reason)]))
  const byOutcome = new Map(HANDSHAKE_OUTCOMES.map((outcome) => [outcome, handshakes.labels(outcome)]))
  let counts: (() => EdgeCounts) | undefined

  new Gauge({
    name: 'namesake_edge_open_connections',
    help: 'Open connections of visitors by protocol',
    labelNames: ['protocol'],
    registers,
    collect() {
      const now = counts?.()
      if (!now) return
      this.set({ protocol: 'http1' }, now.http1Connections)
      this.set({ protocol: 'http2' }, now.http2Connections)
      this.set({ protocol: 'tunnel' }, now.tunnels)
    },
  })
  new Gauge({
    name: 'namesake_edge_upstream_connections',
    help: 'Connections to upstreams by state',
    labelNames: ['state'],
    registers,
    collect() {
      const now = counts?.()
      if (!now) return
      this.set({ state: 'idle' }, now.upstream.idle)
      this.set({ state: 'used' }, now.upstream.connections - now.upstream.idle)
    },
  })
  new Gauge({
    name: 'namesake_edge_exchanges',
    help: 'Requests in progress',
    registers,
    collect() {
      this.set(counts?.().exchanges ?? 0)
    },
  })

  return {
    requestEnded(status, duration) {
      answered[Math.floor(status / 100)]! += 1
      seconds.note(duration)
    },
    upstreamFailed: (reason) => byReason.get(reason)?.inc(),
    handshakeEnded: (outcome) => byOutcome.get(outcome)?.inc(),
    watch(read) {
      counts = read
    },
  }
}
