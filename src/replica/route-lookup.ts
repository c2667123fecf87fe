import type { Hostname } from '../hostname.ts'
import type { FollowerLink } from './client.ts'
import type { CopyReader } from './copy-reader.ts'
import { missIsFinal } from './copy-status.ts'
import type { RouteAnswer } from './messages.ts'

/**
 * How a process of this machine finds the route of a hostname, its own or its wildcard's: in the local copy, whose hits are always served; a miss is final while the copy is fresh
 * and complete, otherwise the follower is asked. Nothing is remembered here. Never throws or rejects.
 */
export function findLocalRoute(reader: CopyReader, follower: FollowerLink, hostname: Hostname): RouteAnswer | Promise<RouteAnswer> {
  const route = reader.findRoute(hostname)
  if (route) return { kind: 'route', route }
  if (reader.isSound() && missIsFinal(follower.status())) return { kind: 'unknown' }
  return follower.findRoute(hostname)
}
