import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Members } from '../lib/members.ts'
import { Lingering } from './lingering.ts'
import { startLooks } from './looks.ts'
import type { VisitorLoss } from './outcome.ts'
import { DISCARDING_MS_MAX, REQUEST_TIMES_CHECKED_EVERY_MS } from './request-limits.ts'
import { Stall } from './stall.ts'
import { UpstreamFailure } from './upstream.ts'
import { takeBytes } from './upstream-reads.ts'
import { takeVisitorBytes } from './visitor-reads.ts'

/** For an upstream whose visitor did not end, but was cut off, or has vanished. */
const CUT_OFF_MS_MAX = 5_000

export type TunnelEnds = {
  visitor: TLSSocket
  upstream: Socket
  /** What the visitor sent behind its request, and the upstream behind its answer. */
  behindRequest: Buffer
  behindAnswer: Buffer
  /** `cutFor`: why, where it was cut. */
  onClose(bytesToVisitor: number, cutFor?: VisitorLoss | UpstreamFailure): void
}

type Tunnel = TunnelEnds & { stall: Stall; cutFor?: VisitorLoss | UpstreamFailure }

/**
 * Connections whose protocol was changed, as with WebSockets: bytes pass both ways untouched and without an idle limit, until one side ends
 * or the edge stops. Only what one side does not take for `stalledMs` ends a tunnel: the other one is not read meanwhile, and its end would not be seen.
 * What an upstream said before it went has as long to leave, and to arrive; what a visitor said before it ended has half a minute, since whoever has
 * gone holds nothing that anybody counts.
 */
export function createTunnels(stalledMs: number) {
  const open = new Members<Tunnel>()
  const lingering = new Lingering()
  const looks = startLooks(REQUEST_TIMES_CHECKED_EVERY_MS, (nowMs) => {
    for (const tunnel of open.all()) {
      const { visitor, upstream, stall } = tunnel
      const waitsForVisitor = upstream.isPaused() || (upstream.destroyed && !visitor.writableFinished)
      if (!waitsForVisitor && !visitor.isPaused()) stall.over()
      else if (stall.lastsMs(nowMs, visitor, upstream) >= stalledMs) cut(tunnel, waitsForVisitor ? 'visitor-stalled' : notTaken())
    }
    lingering.look(nowMs)
  })

  return {
    open(ends: TunnelEnds) {
      const { visitor, upstream } = ends
      let bytes = ends.behindAnswer.length
      const tunnel: Tunnel = { ...ends, stall: new Stall() }
      const place = open.add(tunnel)
      for (const [from, to] of [
        [visitor, upstream],
        [upstream, visitor],
      ] as const) {
        from.on('error', () => {
          if (from.readableEnded) return // only what went to it was lost, and all that it said is on its way
          const isBehindAnswers = to === visitor && visitor.writableLength > bytes // whole ones, for whoever asked ahead
          if (!isBehindAnswers) to.destroy()
        })
      }
      upstream.once('close', () => {
        if (!visitor.destroyed) visitor.end(() => lingering.add(visitor, stalledMs)).resume()
      })
      visitor.once('close', () => {
        lingering.add(upstream, visitor.readableEnded ? DISCARDING_MS_MAX : CUT_OFF_MS_MAX)
        open.delete(place)
        ends.onClose(bytes, tunnel.cutFor)
      })
      if (ends.behindAnswer.length > 0) visitor.write(ends.behindAnswer)
      if (ends.behindRequest.length > 0) upstream.write(ends.behindRequest)
      takeVisitorBytes(visitor, (chunk) => write(chunk, visitor, upstream))
      takeBytes(upstream, (chunk) => {
        bytes += chunk.length
        write(chunk, upstream, visitor)
      })
      join(visitor, upstream)
      join(upstream, visitor)
      if (visitor.destroyed) upstream.destroy()
    },
    count: () => open.size,
    destroy() {
      looks.stop()
      for (const tunnel of open.all()) cut(tunnel, 'edge-stopped')
      lingering.destroy()
    },
  }
}

function notTaken(): UpstreamFailure {
  return new UpstreamFailure('timeout', 'the upstream took nothing of what the visitor sent for too long')
}

function cut(tunnel: Tunnel, reason: VisitorLoss | UpstreamFailure): void {
  if (!tunnel.visitor.destroyed) tunnel.cutFor = reason
  tunnel.visitor.destroy()
  tunnel.upstream.destroy()
}

/** Has one end read again when the other takes more, and lets its end be the other's. */
function join(from: Socket, to: Socket): void {
  to.on('drain', () => from.resume())
  from.once('end', () => to.end())
  from.resume()
}

/** What comes for an end that is gone is dropped: nobody would have the other one read again, and it could not end by itself. */
function write(chunk: Buffer, from: Socket, to: Socket): void {
  if (!to.destroyed && !to.write(chunk)) from.pause()
}
