import type { Hostname } from '../hostname.ts'
import type { ChangedKeys, Cursor } from './rows.ts'

/** What was read of the feed of late, so that it can be read again when a promoted standby has lost the end of it. */
export type RecentReads = {
  /** Before what was read is applied. `lsn`: nothing that this reading saw is behind that position of the server's log. */
  note(read: { cursor: Cursor; lsn: string; keys: ChangedKeys }): void
  /** Names whose rows came into the copy by a look-up, which may be ahead of all that was read of the feed. */
  noteLookUp(hostnames: readonly Hostname[]): void
  /** The last place whose content, and all before it, is within the shared history, and what was applied since; undefined when that is forgotten. */
  since(sharedLsn: string): { cursor: Cursor; keys: ChangedKeys } | undefined
  forget(): void
}

type Read = { cursor: Cursor; lsn: bigint; at: number; keys: ChangedKeys; count: number }

const KEPT_MS = 60_000 // workers leave a sign of life each second, so a minute is long
const KEYS_MAX = 20_000
const READS_MAX = 2_000

/**
 * The rows of a read are loaded after it, so they are certain to be within the position that the next read names: what is reloaded begins with
 * the rows of the last read that is shared.
 */
export function createRecentReads(now: () => number): RecentReads {
  let reads: Read[] = []
  const lookUps: { hostnames: readonly Hostname[]; at: number }[] = []
  let keysKept = 0
  let highest = 0n
  const forget = (): void => {
    reads = []
    keysKept = 0
    highest = 0n
  }
  return {
    note({ cursor, lsn, keys }) {
      const count = Object.values(keys).reduce((sum, list) => sum + list.length, 0)
      const last = reads.at(-1)
      const isIdle = count === 0 && last !== undefined && last.count === 0
      // Of idle reads in a row the first and the last are enough.
      if (isIdle && reads.at(-2)?.count === 0 && now() - reads.at(-2)!.at < 1_000) reads.pop()
      highest = greater(highest, positionOf(lsn)) // one standby may be behind another that was read before
      reads.push({ cursor, lsn: highest, at: now(), keys, count })
      keysKept += count
      while (lookUps.length > 0 && now() - lookUps[0]!.at > KEPT_MS) lookUps.shift() // here alone: while nothing is read none is too old
      while (reads.length > READS_MAX || keysKept > KEYS_MAX || now() - reads[0]!.at > KEPT_MS) {
        const gone = reads.shift()
        if (!gone) return
        keysKept -= gone.count
      }
    },
    noteLookUp(hostnames) {
      lookUps.push({ hostnames, at: now() })
      if (lookUps.length <= KEYS_MAX) return
      lookUps.length = 0
      forget() // a promotion takes a snapshot, then
    },
    since(sharedLsn) {
      const shared = positionOf(sharedLsn)
      const at = reads.findLastIndex(({ lsn }) => lsn <= shared)
      if (at < 0) return undefined
      const merged = (kind: keyof ChangedKeys) => [...new Set(reads.slice(at).flatMap(({ keys }) => keys[kind] as string[]))]
      const keys = Object.fromEntries(KINDS.map((kind) => [kind, merged(kind)])) as ChangedKeys
      const lookedUp = lookUps.flatMap(({ hostnames }) => hostnames)
      for (const kind of ['routes', 'certificates'] as const) keys[kind] = [...new Set([...keys[kind], ...lookedUp])]
      return { cursor: reads[at]!.cursor, keys }
    },
    forget,
  }
}

const KINDS = ['routes', 'certificates', 'projects', 'tokens', 'settings', 'challenges'] as const satisfies (keyof ChangedKeys)[]

function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** PostgreSQL writes positions in its log as two hexadecimal halves. */
function positionOf(lsn: string): bigint {
  const [high = '0', low = '0'] = lsn.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}
