import type { Fields } from './engine.ts'
import { REQUEST_NAMES } from './forwarded-request.ts'

const NEVER = new Set(['trailer', 'authorization', 'cookie', 'set-cookie', 'content-type', 'content-encoding', 'content-range', 'alt-svc'])

/** Trailers as they go on: without framing, routing, and all that an application believes because the edge vouches for it (RFC 9110 §6.5.1). */
export function trailersToForward(trailers: Fields): Fields {
  if (trailers.length === 0) return trailers
  const kept: string[] = []
  for (let i = 0; i < trailers.length; i += 2) {
    const name = trailers[i]!.toLowerCase().replaceAll('_', '-')
    if (REQUEST_NAMES.kindOf(name) === 'pass' && !NEVER.has(name)) kept.push(trailers[i]!, trailers[i + 1]!)
  }
  return kept
}
