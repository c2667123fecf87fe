import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Hostname } from '../hostname.ts'
import { isSqliteError } from '../lib/sqlite-error.ts'
import { currentGeneration } from './copy-files.ts'
import { type CopyLookups, type ProjectBrand, prepareLookups } from './copy-lookups.ts'
import { unreadability } from './copy-schema.ts'
import type { CertificateRow, ChallengeRow, LightRoute, Route } from './rows.ts'

export type CopyReader = {
  /** The hostname's own route, else that of the wildcard over it. */
  findRoute(hostname: Hostname): Route | undefined
  /** So many of the claims behind this one, by name; `last` is where to go on, if there is more. */
  readRoutes(after: Hostname | undefined, count: number): { routes: LightRoute[]; last: Hostname | undefined } | undefined
  findCertificate(hostname: Hostname): CertificateRow | undefined
  findBrand(projectId: string): ProjectBrand | undefined
  findSetting(name: string): Buffer | undefined
  /** The TLS-ALPN-01 challenges that are pending, the newest of a hostname last. */
  readChallenges(): readonly ChallengeRow[] | undefined
  /** Whether the last look-up could be made in an undamaged copy: then its miss says that the copy does not hold the key. */
  isSound(): boolean
  /** Whether the copy holds some hostnames only; false too while none can be read. */
  isBounded(): boolean
  /** `usable` is false while there is no copy that can be read, or the last look-up failed; `complete` where it holds every hostname. */
  state(): { usable: boolean; complete: boolean; asOfMs: number }
  /** News came: what is read from now on may stand in another copy. */
  lookAgain(): void
  close(): void
}

const BUSY_TIMEOUT_MS = 250
const REOPEN_INTERVAL_MS = 1_000

export type CopyReaderOptions = {
  metadata?: boolean
  onDamaged?: (sentence: string) => void
  /** A copy that could not be opened when it came is read from now on: what was read since then stands in the former one. */
  onLate?: () => void
  /** Nothing can be made beside the copy: it is read as it lies, and called once for that file. */
  onUnwritable?: (sentence: string) => void
}

/** `asItLay`: the state of a file that is read without the files that SQLite makes beside it, so that only a look tells whether it was written since. */
type Opened = { file: string; db: DatabaseSync; lookups: CopyLookups; asItLay?: string }

/**
 * The local copy, read-only; any number of processes may hold one. A look-up takes some 7 µs and sees every batch that was applied before
 * it began; that the copy has been replaced, those of the next turn of the loop see, or of this one after `lookAgain`. Never throws: without a copy, or where it is damaged, nothing is found, `state()` says so,
 * and `onDamaged` is called once for that file. The undamaged part of a file goes on being served until its replacement stands.
 */
export function openCopyReader(path: string, options: CopyReaderOptions = {}): CopyReader {
  let opened: Opened | undefined
  let failed: { file: string; retryAt: number } | undefined
  let damaged: string | undefined
  let unwritable: string | undefined
  let lastFailed = false
  /** Whether this turn of the loop has looked already for a newer generation. */
  let hasLooked = false
  let closed = false

  const current = (): CopyLookups | undefined => {
    if (closed) return undefined
    if (hasLooked) return opened?.lookups
    hasLooked = true
    setImmediate(() => (hasLooked = false))
    const file = currentGeneration(path)
    if (opened && opened.file === file && opened.asItLay === undefined) return opened.lookups
    if (failed?.file === file && performance.now() < failed!.retryAt && !isOvertaken()) return opened?.lookups
    const next = file === undefined ? undefined : openGeneration(file)
    const isLate = next !== undefined && next !== opened && failed !== undefined
    const isWhole = next !== undefined && next.asItLay === undefined
    failed = isWhole || file === undefined ? undefined : { file, retryAt: performance.now() + REOPEN_INTERVAL_MS }
    // What is gone, or this release cannot read, as a later one's copy, takes nobody's place: whoever still serves goes on with what it knows.
    if (next === opened || (!next && !isOvertaken())) return opened?.lookups
    opened?.db.close()
    opened = next
    if (isLate) options.onLate?.()
    return opened?.lookups
  }

  const isOvertaken = (): boolean => opened?.asItLay !== undefined && opened.asItLay !== stateAsItLies(opened.file)

  const openGeneration = (file: string): Opened | undefined => {
    try {
      return prepared(file, () => new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS }))
    } catch (error) {
      const isWritten = isSqliteError(error, 'busy')
      return isWritten || isSqliteError(error, 'damage') ? undefined : openAsItLies(file, (error as Error).message)
    }
  }

  /** On a full disk, or one that is read-only, the files that SQLite needs beside a copy cannot be made. It can be read without them while nobody writes it. */
  const openAsItLies = (file: string, reason: string): Opened | undefined => {
    try {
      const asItLay = stateAsItLies(file)
      if (asItLay === undefined) return undefined
      if (opened?.file === file && opened.asItLay === asItLay) return opened
      const found = prepared(file, () => new DatabaseSync(`${pathToFileURL(file)}?immutable=1`, { readOnly: true }))
      if (found && unwritable !== file) {
        unwritable = file
        options.onUnwritable?.(`${file}: ${reason}`)
      }
      return found && { ...found, asItLay }
    } catch {
      return undefined
    }
  }

  const prepared = (file: string, open: () => DatabaseSync): Opened | undefined => {
    let db: DatabaseSync | undefined
    try {
      const reader = open()
      db = reader
      if (noteDamage(file, () => unreadability(reader, { metadata: options.metadata ?? false })) === undefined)
        return { file, db, lookups: prepareLookups(db) }
      db.close()
      return undefined
    } catch (error) {
      if (db?.isOpen) db.close()
      throw error
    }
  }

  const noteDamage = <T>(file: string | undefined, read: () => T): T => {
    try {
      return read()
    } catch (error) {
      if (isSqliteError(error, 'damage') && file && damaged !== file) {
        damaged = file
        options.onDamaged?.(`${file}: ${(error as Error).message}`)
      }
      throw error
    }
  }

  const look = <T>(read: (lookups: CopyLookups) => T): T | undefined => {
    try {
      const lookups = current()
      lastFailed = !lookups
      return lookups && noteDamage(opened?.file, () => read(lookups))
    } catch {
      lastFailed = true
      return undefined
    }
  }

  return {
    findRoute: (hostname) => look((lookups) => lookups.findRoute(hostname)),
    readRoutes: (after, count) => look((lookups) => lookups.readRoutes(after, count)),
    findCertificate: (hostname) => look((lookups) => lookups.findCertificate(hostname)),
    findBrand: (projectId) => look((lookups) => lookups.findBrand(projectId)),
    findSetting: (name) => look((lookups) => lookups.findSetting(name)),
    readChallenges: () => look((lookups) => lookups.readChallenges()),
    isSound: () => !lastFailed && opened !== undefined && !failed && damaged !== opened.file,
    isBounded: () => opened?.lookups.isBounded ?? false,
    state() {
      const afterFailure = lastFailed
      const asOfMs = look((lookups) => lookups.readState().asOfMs)
      const usable = !afterFailure && asOfMs !== undefined && damaged !== opened?.file
      return { usable, complete: usable && opened?.lookups.isBounded === false, asOfMs: asOfMs ?? 0 }
    },
    lookAgain() {
      hasLooked = false
      opened?.lookups.forgetProjects()
    },
    close() {
      closed = true
      opened?.db.close()
      opened = undefined
    },
  }
}

/** Another one once the file was written; undefined while there is something in its log, which whoever reads it alone would miss. */
function stateAsItLies(file: string): string | undefined {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  if (log && log.size > 0) return undefined
  const { size, mtimeMs } = statSync(file)
  return `${size}:${mtimeMs}`
}
