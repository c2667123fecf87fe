import { Shares } from '../lib/shares.ts'
import type { ClientLoad } from './admission.ts'
import { type Upstream, UpstreamFailure, type UpstreamPoolParts } from './upstream.ts'
import { keepToShare } from './upstream-share.ts'

const IDLE_CONNECTIONS_MAX = 2_048
/** Of the room, for those of HTTP/1.1 and those of HTTP/2 each. */
const IDLE_SHARE = 1 / 4
const NO_ROOM = 'this process may open no more files for upstreams of this project (LimitNOFILE in the systemd unit, or ulimit -Hn)'

export type UpstreamRoom = ReturnType<typeof createUpstreamRoom>

/**
 * Bounds the connections to upstreams of this process, tunnels among them. A project gets a further one while it has fewer than are still free: half
 * of them when it comes first, and the next one half of what it left. A client that has its share of all gets none, whosever upstream it asks for.
 */
export function createUpstreamRoom(max = Number.POSITIVE_INFINITY) {
  const taken = new Shares()
  const hasFor = (owner: string) => taken.countOf(owner) < max - taken.count

  return {
    /** What one project gets while no other has any. */
    perProjectMax: max / 2,
    /** Connections that nobody uses at the moment, of each protocol. */
    idleMax: Math.min(IDLE_CONNECTIONS_MAX, max * IDLE_SHARE),
    /** Whether the project may have a further one. */
    hasFor,
    /** `connect` within the room: each socket has its place until it is closed. Rejects with UpstreamFailure `busy` where there is none. */
    bounding: (connect: UpstreamPoolParts['connect']) => async (upstream: Upstream, load?: ClientLoad) => {
      const { owner } = upstream
      keepToShare(load, taken.count, max)
      if (!hasFor(owner)) throw new UpstreamFailure('busy', NO_ROOM)
      taken.enter(owner)
      try {
        const socket = await connect(upstream)
        if (socket.closed) taken.leave(owner)
        else socket.once('close', () => taken.leave(owner))
        return socket
      } catch (error) {
        taken.leave(owner)
        throw error
      }
    },
  }
}
