import type { ClientLoad } from './admission.ts'
import { UpstreamFailure } from './upstream.ts'

/** Who asks for a way to an upstream. `fresh`: on no connection that was kept. `hasBody`: on none that takes no bodies at the moment. */
export type Asking = { fresh?: boolean; hasBody?: boolean; load?: ClientLoad | undefined }

/** One client has so many times less than all have together. */
export const CLIENT_SHARES = 4

/**
 * Throws UpstreamFailure `busy` for a client that has more exchanges than its share of the `room` of an upstream, or of all, already while more than half of that is taken.
 * Over HTTP/1.1 hardly anybody comes there; over HTTP/2 a few connections are enough to keep all others out.
 */
export function keepToShare(load: ClientLoad | undefined, taken: number, room: number): void {
  if (load !== undefined && taken * 2 > room && load.exchanges > room / CLIENT_SHARES)
    throw new UpstreamFailure('busy', 'this client has its share of the connections to upstreams')
}
