import type { ClientLoad } from './admission.ts'
import { UpstreamFailure } from './upstream.ts'

/** Who asks for a way to an upstream. `fresh`: on no connection that was kept. */
export type Asking = { fresh?: boolean; load?: ClientLoad | undefined }

const SHARES = 4

/**
 * Whether a client has so many exchanges already that it gets no further one with an upstream half of whose connections are taken: more than a quarter
 * of what those connections carry. Over HTTP/1.1 hardly anybody comes there; over HTTP/2 a few connections are enough to keep all others out.
 */
export function hasItsShare(load: ClientLoad | undefined, exchangesMax: number): boolean {
  return load !== undefined && load.exchanges > exchangesMax / SHARES
}

export function shareFailure(): UpstreamFailure {
  return new UpstreamFailure('busy', 'this client has its share of a busy upstream')
}
