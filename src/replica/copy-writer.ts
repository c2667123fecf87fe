import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Hostname } from '../hostname.ts'
import { isSqliteError } from '../lib/sqlite-error.ts'
import { type CopyChanges, prepareChanges } from './copy-changes.ts'
import { type CheckDepth, type CopyCheck, checkCopy } from './copy-check.ts'
import {
  createGeneration,
  currentGeneration,
  removeGeneration,
  removeReplaced,
  setAside,
  sweepGenerations,
  switchToGeneration,
} from './copy-files.ts'
import { takeCopyLock } from './copy-lock.ts'
import { type CopyLookups, prepareLookups } from './copy-lookups.ts'
import { ALWAYS_USED_MS, type CopyNames, prepareNames } from './copy-names.ts'
import { type CopyScope, countRows, createTables, touchEnds, unfitness } from './copy-schema.ts'
import type { CertificateRow, ChallengeRow, CopyBatch, Cursor, NameUse, ProjectRow, Route, RouteRow, SettingRow } from './rows.ts'

/** Everything that the copy is to hold, page by page; `cursor` was taken before the first page was read. */
export type Snapshot = {
  cursor: Cursor
  asOfMs: number
  routes: AsyncIterable<RouteRow[]>
  projects: AsyncIterable<ProjectRow[]>
  certificates: AsyncIterable<CertificateRow[]>
  settings: SettingRow[]
  challenges: ChallengeRow[]
  /** Of a bounded copy: when a name was last used, as far as that is known. */
  usedAtMs?: (hostname: Hostname) => number
  /** Names that a bounded copy never lets go. */
  pinned?: readonly Hostname[]
}

/** `complete` where the copy holds every hostname. `unfit` says why there is no usable copy to follow the feed from: then `cursor` is undefined and a snapshot is needed. */
export type CopyState = { cursor: Cursor | undefined; complete: boolean; asOfMs: number; unfit: string | undefined }

export type CopyTotals = { routes: number; certificates: number; ending: number }

export type CopyWriter = {
  state(): CopyState
  /** Opens a copy that could not be opened before, though nothing was wrong with it, as where a full disk has no room for the files beside it. Whether there is one now. */
  reopen(): boolean
  findRoute(hostname: Hostname): Route | undefined
  /**
   * Builds a new copy beside the one in use and puts it in its place in one step: readers see the old one whole, then the new one whole.
   * A crash or a rejection on the way leaves the old one. Nothing may be applied meanwhile.
   */
  replaceAll(snapshot: Snapshot): Promise<void>
  /** Applies one batch, whole or not at all. A row of an older version than the one in the copy is ignored; a removal always holds. */
  apply(batch: CopyBatch): void
  /** How many hostnames it holds at most, 0 for all. */
  hostnamesMax: number
  /** Those whose changes concern the copy: of a bounded one, the names that it knows. */
  known(hostnames: readonly Hostname[]): Hostname[]
  /** The names that a bounded copy knows, the most recently used first. */
  byUse(): NameUse[]
  /** Notes when names were used, so that others leave a bounded copy before them. */
  use(uses: readonly NameUse[]): void
  /** Has no name count as used later than then. */
  capUses(atMs: number): void
  /** What it holds, and how many of its certificates end before the given moment; undefined where there is none. */
  totals(endBeforeMs: number): CopyTotals | undefined
  /** Looks through the whole file beside the event loop; where it is damaged, the copy becomes unfit. */
  check(depth?: CheckDepth, signal?: AbortSignal): Promise<CopyCheck>
  /** Whether the file is still there, which takes no time; else gives the copy up and says why. */
  look(): string | undefined
  close(): void
}

const BUSY_TIMEOUT_MS = 1_000
const LOG_BYTES_KEPT = 16 * 1024 * 1024

/** Why a file cannot be followed or read. */
type Unfit = { file: string | undefined; reason: string; because: 'content' | 'damaged' | 'unopened' }
type Opened = { file: string; inode: number; db: DatabaseSync; lookups: CopyLookups; changes: CopyChanges; names: CopyNames }

/**
 * Opens the machine's copy for its one writer; throws when another process writes it, or when its folder is closed to this one. Takes the same time for any number of rows.
 * A copy that is missing, damaged or of another version is no error: `state().unfit` asks for a snapshot, and readers keep what they have till then.
 */
export function openCopyWriter(path: string, scope: CopyScope = { metadata: true, hostnamesMax: 0 }): CopyWriter {
  const lock = takeCopyLock(path)
  let opened: Opened | undefined
  let unfit: Unfit | undefined
  let state: { cursor: Cursor; asOfMs: number } | undefined
  let isReplacing = false

  const giveUp = (file: string, reason: string): void => {
    if (opened?.db.isOpen) opened.db.close()
    opened = undefined
    unfit = { file, reason, because: 'damaged' }
  }
  const guarded = <T>(action: (copy: Opened) => T): T => {
    if (!opened) throw new Error(`there is no copy to work on: ${unfit?.reason}`)
    const { file } = opened
    try {
      return action(opened)
    } catch (error) {
      if (isSqliteError(error, 'damage')) giveUp(file, `it is damaged: ${(error as Error).message}`)
      throw error
    }
  }
  const take = (file: string): void => {
    const outcome = openGeneration(file, scope)
    if (outcome.kind === 'unfit') {
      unfit = { file, ...outcome }
      return
    }
    opened = outcome.opened
    unfit = undefined
    state = opened.lookups.readState()
  }

  const inUse = currentGeneration(path)
  if (inUse) take(inUse)
  else unfit = { file: undefined, reason: 'there is none yet', because: 'content' }
  sweepGenerations(path)

  return {
    state: () => ({
      cursor: opened && state?.cursor,
      complete: opened !== undefined && scope.hostnamesMax === 0,
      asOfMs: state?.asOfMs ?? 0,
      unfit: unfit?.reason,
    }),
    reopen() {
      const file = currentGeneration(path)
      if (file && unfit?.because === 'unopened' && unfit.file === file) take(file)
      return opened !== undefined
    },
    findRoute: (hostname) => opened && guarded(({ lookups }) => lookups.findRoute(hostname)),
    async replaceAll(snapshot) {
      const before = currentGeneration(path)
      const file = createGeneration(path)
      try {
        await build(file, snapshot, scope)
        isReplacing = true
        await switchToGeneration(path, file)
      } catch (error) {
        if (currentGeneration(path) !== file) await removeGeneration(file)
        throw error
      } finally {
        isReplacing = false
      }
      const isDamaged = unfit?.because === 'damaged' && unfit.file === before
      opened?.db.close()
      opened = undefined
      take(file)
      if (before && isDamaged) await setAside(path, before)
      else if (before) removeReplaced(before)
    },
    apply(batch) {
      guarded(({ changes, lookups }) => {
        changes.apply(batch)
        if (batch.removedProjects) lookups.forgetProjects()
      })
      if (state) state = { cursor: batch.cursor ?? state.cursor, asOfMs: batch.asOfMs ?? state.asOfMs }
    },
    hostnamesMax: scope.hostnamesMax,
    known: (hostnames) => (scope.hostnamesMax === 0 || !opened ? [...hostnames] : guarded(({ names }) => hostnames.filter(names.holds))),
    byUse: () => (opened ? guarded(({ names }) => names.byUse()) : []),
    use: (uses) => opened && guarded(({ changes }) => changes.use(uses)),
    capUses: (atMs) => opened && guarded(({ changes }) => changes.capUses(atMs)),
    totals(endBeforeMs) {
      try {
        return opened && guarded(({ lookups }) => lookups.readTotals(endBeforeMs))
      } catch {
        return undefined // whoever follows or reads says what is wrong with it
      }
    },
    look() {
      if (!opened || isReplacing || stands(path, opened)) return undefined
      const reason = 'its file was emptied, removed or replaced'
      giveUp(opened.file, reason)
      return reason
    },
    async check(depth = 'structure', signal) {
      const file = opened?.file
      if (!file) return { kind: 'unknown', sentence: 'there is no copy to check' }
      const outcome = await checkCopy(file, depth, signal)
      if (outcome.kind === 'damaged' && opened?.file === file) giveUp(file, `it is damaged: ${outcome.sentence}`)
      return outcome
    },
    close() {
      opened?.db.close()
      opened = undefined
      if (lock.isOpen) lock.close()
    },
  }
}

function stands(path: string, { file, inode }: Opened): boolean {
  const found = currentGeneration(path) === file ? statSync(file, { throwIfNoEntry: false }) : undefined
  return found?.ino === inode && found.size > 0
}

function openGeneration(file: string, scope: CopyScope): { kind: 'opened'; opened: Opened } | ({ kind: 'unfit' } & Omit<Unfit, 'file'>) {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
    const reason = unfitness(db, scope)
    if (reason) {
      db.close()
      return { kind: 'unfit', reason, because: 'content' }
    }
    touchEnds(db)
    // normal: a power cut may take the last batches back, never half of one. Their cursor goes with them, so the feed brings them again.
    db.exec(`pragma synchronous = normal; pragma journal_size_limit = ${LOG_BYTES_KEPT}`)
    if (!scope.metadata) db.exec('update state set metadata = 0 where metadata <> 0') // from now on it is not kept up
    const names = prepareNames(db)
    return {
      kind: 'opened',
      opened: { file, inode: statSync(file).ino, db, lookups: prepareLookups(db), changes: prepareChanges(db, scope, names), names },
    }
  } catch (error) {
    if (db?.isOpen) db.close()
    const because = isSqliteError(error, 'damage') ? 'damaged' : 'unopened'
    return { kind: 'unfit', reason: `it cannot be opened: ${(error as Error).message}`, because }
  }
}

async function build(file: string, snapshot: Snapshot, scope: CopyScope): Promise<void> {
  const db = new DatabaseSync(file)
  try {
    // Nobody reads it before it is complete, and a half-built file is thrown away: so neither journal nor waiting for the disk.
    db.exec('pragma journal_mode = off; pragma synchronous = off')
    createTables(db)
    const changes = prepareChanges(db, scope, prepareNames(db))
    changes.apply({ known: (snapshot.pinned ?? []).map((hostname) => ({ hostname, usedAtMs: ALWAYS_USED_MS })) })
    const known = ({ hostname }: RouteRow) => ({ hostname, usedAtMs: snapshot.usedAtMs?.(hostname) ?? 0 })
    for await (const routes of snapshot.routes) changes.apply({ routes, known: routes.map(known) })
    for await (const projects of snapshot.projects) changes.apply({ projects })
    for await (const certificates of snapshot.certificates) changes.apply({ certificates })
    changes.apply({ settings: snapshot.settings, challenges: snapshot.challenges })
    countRows(db)
    changes.complete(snapshot.cursor, snapshot.asOfMs)
    db.exec('pragma journal_mode = wal')
  } finally {
    db.close()
  }
}
