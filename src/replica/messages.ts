import type { Hostname } from '../hostname.ts'
import type { Vitals } from './acknowledgements.ts'
import type { CopyStatus } from './copy-status.ts'
import type { ChangedKeys, Route } from './rows.ts'

/** `unavailable`: nobody can say now whether the hostname is registered. */
export type RouteAnswer = { kind: 'route'; route: Route } | { kind: 'unknown' } | { kind: 'unavailable' }

export type CertificateRequestAnswer = { kind: 'requested' } | { kind: 'refused'; reason: string }

/** What an api or edge process says to the follower of its machine: which name was visited, or of which claim something is wanted. Only those with an id are answered. */
export type ToFollower =
  | { type: 'find-route'; id: number; hostname: Hostname }
  | { type: 'request-certificate'; id: number; hostname: Hostname }
  | { type: 'visitor-came'; hostname: Hostname }
  | { type: 'hostnames-used'; hostnames: Hostname[] }
  | { type: 'copy-damaged'; sentence: string }
  | Applied

/** Everything that was announced before the mark is dropped from memory. `vitals` are those of an edge process; an api process has none. */
export type Applied = { type: 'applied'; mark: number; vitals?: Vitals | undefined }

/**
 * What the follower says. `hello` comes first on each connection: what was applied before it stands in the copy, what is applied after
 * it is announced. So whoever forgets everything at `hello` never remembers anything stale. `reset`: forget everything again.
 * A `mark` is to be confirmed once all that came before it is done; a follower of an earlier release sets none.
 */
export type FromFollower =
  | { type: 'hello'; status: CopyStatus; mark?: number }
  | { type: 'status'; status: CopyStatus; mark?: number | undefined }
  | { type: 'changed'; keys: ChangedKeys }
  | { type: 'reset' }
  | { type: 'answer'; id: number; answer: RouteAnswer | CertificateRequestAnswer }

export const LINE_BYTES_MAX = 1024 * 1024 // metadata is at most 16 KB, a full push some 130 KB
export const KEYS_PER_PUSH_MAX = 500
