import { readOwnProc } from './lib/own-proc.ts'

/** A visitor's connection, and for half of them one to an upstream: the others are idle. */
const PER_CONNECTION = 1.5
/** For all else that an edge process has open: listening sockets, the local copy, look-ups of names. */
const RESERVED = 512
const CONNECTIONS_MIN = 64
const ROOM_MIN = 16_384 // 128 KB of the kernel's memory
const ROOM_MAX = 262_144

/** How many files this process may have open. Node raises the soft limit to the hard one when it starts; undefined where the system has no /proc. */
export function fileDescriptorsMax(limits = readOwnProc('limits')): number | undefined {
  const hard = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return hard === undefined ? undefined : Number(hard)
}

/** How many visitors' connections an edge process may hold: as many as wanted (0: any number), or those that there are descriptors for. 0: any number. */
export function connectionCeiling(wanted: number, descriptors: number | undefined): number {
  if (descriptors === undefined) return wanted
  const possible = Math.max(CONNECTIONS_MIN, Math.floor((descriptors - RESERVED) / PER_CONNECTION))
  return wanted === 0 ? possible : Math.min(wanted, possible)
}

/** How many connections to upstreams it may hold beside those of so many visitors. */
export function upstreamCeiling(visitors: number, descriptors = Number.POSITIVE_INFINITY): number {
  return Math.max(CONNECTIONS_MIN / 2, descriptors - RESERVED - visitors)
}

/** How many files an edge process has room for from the start when it may hold `wanted` visitors' connections (docs/decisions/0098). */
export function descriptorRoom(wanted: number): number {
  return Math.min(Math.max(ROOM_MIN, descriptorsFor(wanted)), ROOM_MAX)
}

function descriptorsFor(connections: number): number {
  return Math.ceil(connections * PER_CONNECTION) + RESERVED
}

/** What to tell the operator when the limit on open files is too low for the wanted connections; undefined when it is not. */
export function descriptorShortage(wanted: number, descriptors: number | undefined): string | undefined {
  const ceiling = connectionCeiling(wanted, descriptors)
  if (wanted === 0 || ceiling >= wanted) return undefined
  const needed = descriptorsFor(wanted)
  return `An edge process may open ${descriptors} files, which is enough for ${ceiling} visitors at once and not for the ${wanted} of NAMESAKE_EDGE_CONNECTIONS. Raise the limit (LimitNOFILE=${needed} in the systemd unit, or ulimit -Hn ${needed}), or set NAMESAKE_EDGE_CONNECTIONS=${ceiling}`
}
