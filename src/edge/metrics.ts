import { Counter, Gauge, type Registry } from 'prom-client'
import { countBy } from '../lib/count-by.ts'
import { type AdmissionCounts, TURNED_AWAY_REASONS, type TurnedAwayReason } from './admission.ts'
import { HELD_OUTCOMES, type HeldOutcome } from './bridge.ts'
import { DurationHistogram } from './duration-histogram.ts'
import { errorName, FRAME } from './http2/protocol.ts'
import { FAILURE_REASONS, type FailureReason } from './upstream.ts'

export const HANDSHAKE_OUTCOMES = ['completed', 'resumed', 'validated', 'refused', 'failed', 'timeout', 'gone'] as const
export type HandshakeOutcome = (typeof HANDSHAKE_OUTCOMES)[number]

export type EdgeCounts = {
  admission: AdmissionCounts
  http1Connections: number
  http2Connections: number
  tunnels: number
  exchanges: number
  upstream: { pools: number; connections: number; idle: number }
  /** Requests that are held, upstreams in trouble, and those of them that nobody waits for any more. */
  bridge: { held: number; outages: number; circuits: number }
  /** Certificates that TLS holds ready, and how often one was made ready. */
  tls: { kept: number; made: number }
}

export type EdgeMetrics = {
  requestEnded(status: number, seconds: number): void
  port80Answered(status: number): void
  upstreamFailed(reason: FailureReason): void
  heldEnded(outcome: HeldOutcome): void
  handshakeEnded(outcome: HandshakeOutcome): void
  turnedAway(reason: TurnedAwayReason): void
  http2ErrorSent(frameType: number, code: number): void
  /** Says where the gauges read their values when somebody looks. */
  watch(counts: () => EdgeCounts): void
}

/** By the first digit of the status, of which more than 5 means 5 (RFC 9110 §15); none when the visitor went before there was one. */
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

function classOf(status: number): number {
  return Math.min(Math.floor(status / 100), STATUS_CLASSES.length - 1)
}

/** The edge's numbers in the registry, under names that begin with `namesake_edge_`. */
export function createEdgeMetrics(registry: Registry): EdgeMetrics {
  const registers = [registry]
  const answered = new Float64Array(STATUS_CLASSES.length)
  new Counter({
    name: 'namesake_edge_requests_total',
    help: 'Answered requests by status class',
    labelNames: ['class'],
    registers,
    collect() {
      this.reset()
      for (const [i, label] of STATUS_CLASSES.entries()) this.inc({ class: label }, answered[i]!)
    },
  })
  const seconds = new DurationHistogram({
    name: 'namesake_edge_request_seconds',
    help: 'Time from head of request to end of answer',
    buckets: SECONDS,
    registers,
  })
  const countPort80 = countBy(registry, {
    name: 'namesake_edge_port80_requests_total',
    help: 'Requests to port 80 that were answered, by status class',
    label: 'class',
    values: STATUS_CLASSES.slice(2),
  })
  const upstreamFailed = countBy(registry, {
    name: 'namesake_edge_upstream_errors_total',
    help: 'Failed exchanges by reason',
    label: 'reason',
    values: FAILURE_REASONS,
  })
  const heldEnded = countBy(registry, {
    name: 'namesake_edge_held_requests_total',
    help: 'Requests held for their upstream by outcome',
    label: 'outcome',
    values: HELD_OUTCOMES,
  })
  const handshakeEnded = countBy(registry, {
    name: 'namesake_edge_handshakes_total',
    help: 'TLS handshakes by outcome',
    label: 'outcome',
    values: HANDSHAKE_OUTCOMES,
  })
  const turnedAway = countBy(registry, {
    name: 'namesake_edge_turned_away_total',
    help: 'Connections closed before their handshake because of a ceiling, by which one',
    label: 'ceiling',
    values: TURNED_AWAY_REASONS,
  })
  const http2Errors = new Counter({
    name: 'namesake_edge_http2_errors_total',
    help: 'RST_STREAM and GOAWAY sent to visitors, by error code',
    labelNames: ['frame', 'code'],
    registers,
  })
  let counts: (() => EdgeCounts) | undefined
  const addGauge = ({ read, ...named }: { name: string; help: string; read(now: EdgeCounts): number }) =>
    new Gauge({
      ...named,
      registers,
      collect() {
        this.set(counts ? read(counts()) : 0)
      },
    })

  new Gauge({
    name: 'namesake_edge_open_connections',
    help: 'Open connections of visitors by protocol',
    labelNames: ['protocol'],
    registers,
    collect() {
      const now = counts?.()
      if (!now) return
      this.set({ protocol: 'http1' }, now.http1Connections - now.tunnels) // a tunnel's visitor came by HTTP/1.1
      this.set({ protocol: 'http2' }, now.http2Connections)
      this.set({ protocol: 'tunnel' }, now.tunnels)
    },
  })
  addGauge({
    name: 'namesake_edge_admitted_connections',
    help: 'Connections of visitors from their accept on: those of port 80 and within handshakes too',
    read: (now) => now.admission.open,
  })
  addGauge({
    name: 'namesake_edge_admitted_connections_max',
    help: 'How many connections of visitors are held at most; 0: as many as come',
    read: (now) => now.admission.max,
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
      this.set({ state: 'used' }, now.upstream.connections - now.upstream.idle + now.tunnels) // a tunnel's has left its pool
    },
  })
  addGauge({
    name: 'namesake_edge_held_requests',
    help: 'Requests that wait for their upstream to come back',
    read: (now) => now.bridge.held,
  })
  addGauge({
    name: 'namesake_edge_open_circuits',
    help: 'Upstreams that stay down: their requests get 502 at once',
    read: (now) => now.bridge.circuits,
  })
  addGauge({
    name: 'namesake_edge_tls_contexts',
    help: 'Certificates that are ready for handshakes in memory',
    read: (now) => now.tls.kept,
  })
  new Counter({
    name: 'namesake_edge_tls_contexts_made_total',
    help: 'How often a certificate was made ready for handshakes',
    registers,
    collect() {
      this.reset()
      this.inc(counts?.().tls.made ?? 0)
    },
  })
  addGauge({ name: 'namesake_edge_exchanges', help: 'Requests in progress', read: (now) => now.exchanges })

  return {
    requestEnded(status, duration) {
      answered[classOf(status)]! += 1
      seconds.note(duration)
    },
    port80Answered: (status) => countPort80(STATUS_CLASSES[classOf(status)]!),
    upstreamFailed,
    heldEnded,
    handshakeEnded,
    turnedAway,
    http2ErrorSent: (type, code) => http2Errors.inc({ frame: type === FRAME.goaway ? 'GOAWAY' : 'RST_STREAM', code: errorName(code) }),
    watch(read) {
      counts = read
    },
  }
}
