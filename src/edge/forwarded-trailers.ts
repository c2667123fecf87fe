import type { Fields } from './engine.ts'
import { namedIn } from './fields.ts'
import { ANSWER_NAMES } from './forwarded-answer.ts'
import { REQUEST_NAMES } from './forwarded-request.ts'

const NEVER = new Set(['trailer', 'authorization', 'cookie', 'set-cookie', 'content-type', 'content-encoding', 'content-range', 'alt-svc'])

/** A request's trailers as they go on: without framing, routing, and all that an application believes because the edge vouches for it (RFC 9110 §6.5.1). */
export function trailersToUpstream(trailers: Fields): Fields {
  return trailersThat(trailers, (name) => REQUEST_NAMES.kindOf(name) === 'pass')
}

/** An answer's: without framing, and what concerns one hop. A service may well say in them what a request is called. */
export function trailersToVisitor(trailers: Fields): Fields {
  return trailersThat(trailers, (name) => ANSWER_NAMES.kindOf(name) === 'pass')
}

/** Without those that Connection, as the head before them says it, names to be of this hop alone (RFC 9110 §7.6.1). */
export function trailersBeyondHop(trailers: Fields, connection: string): Fields {
  const named = trailers.length > 0 ? namedIn(connection) : undefined
  return named ? trailers.filter((_, i) => !named.has(trailers[i - (i % 2)]!.toLowerCase())) : trailers
}

function trailersThat(trailers: Fields, pass: (name: string) => boolean): Fields {
  if (trailers.length === 0) return trailers
  const kept: string[] = []
  for (let i = 0; i < trailers.length; i += 2) {
    const name = trailers[i]!.toLowerCase().replaceAll('_', '-')
    if (pass(name) && !NEVER.has(name)) kept.push(trailers[i]!, trailers[i + 1]!)
  }
  return kept
}
