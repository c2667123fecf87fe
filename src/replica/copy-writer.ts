import { DatabaseSync } from 'node:sqlite'
import type { Hostname } from '../hostname.ts'
import { type CopyChanges, prepareChanges } from './copy-changes.ts'
import { type CopyCheck, checkCopy } from './copy-check.ts'
import type { CopyCounts } from './copy-counts.ts'
import {
  createGeneration,
  currentGeneration,
  removeGeneration,
  removeReplaced,
  setAside,
  sweepGenerations,
  switchToGeneration,
} from './copy-files.ts'
import { type CopyLookups, prepareLookups } from './copy-lookups.ts'
import { createTables, isDamage, touchEnds, unfitness } from './copy-schema.ts'
import type { CertificateRow, ChallengeRow, CopyBatch, Cursor, RouteRow, SettingRow } from './rows.ts'

/** Everything that the copy is to hold, page by page; `cursor` was taken before the first page was read. */
export type Snapshot = {
  cursor: Cursor
  asOfMs: number
  routes: AsyncIterable<RouteRow[]>
  certificates: AsyncIterable<CertificateRow[]>
  settings: SettingRow[]
  challenges: ChallengeRow[]
}

/** `unfit` says why there is no usable copy to follow the feed from: then `cursor` is undefined and a snapshot is needed. */
export type CopyState = { cursor: Cursor | undefined; complete: boolean; asOfMs: number; unfit: string | undefined }

export type CopyWriter = {
  state(): CopyState
  findRoute(hostname: Hostname): RouteRow | undefined
  /** Undefined while there is no copy. */
  count(): CopyCounts | undefined
  /**
   * Builds a new copy beside the one in use and puts it in its place in one step: readers see the old one whole, then the new one whole.
   * A crash or a rejection on the way leaves the old one. Nothing may be applied meanwhile.
   */
  replaceAll(snapshot: Snapshot): Promise<void>
  /** Applies one batch, whole or not at all. A row of an older version than the one in the copy is ignored; a removal always holds. */
  apply(batch: CopyBatch): void
  /** Looks through the whole file beside the event loop; where it is damaged, the copy becomes unfit. */
  check(signal?: AbortSignal): Promise<CopyCheck>
  close(): void
}

const BUSY_TIMEOUT_MS = 1_000
const LOG_BYTES_KEPT = 16 * 1024 * 1024

type Opened = { file: string; db: DatabaseSync; lookups: CopyLookups; changes: CopyChanges }

/**
 * Opens the machine's copy for its one writer; throws when another process writes it. Takes the same time for any number of rows.
 * A copy that is missing, damaged or of another version is no error: `state().unfit` asks for a snapshot, and readers keep what they have till then.
 */
export function openCopyWriter(path: string): CopyWriter {
  const lock = takeLock(path)
  let opened: Opened | undefined
  let unfit: string | undefined
  let damaged: string | undefined
  let state: { cursor: Cursor; asOfMs: number } | undefined

  const giveUp = (file: string, reason: string): void => {
    if (opened?.db.isOpen) opened.db.close()
    opened = undefined
    damaged = file
    unfit = reason
  }
  const guarded = <T>(action: (copy: Opened) => T): T => {
    if (!opened) throw new Error(`there is no copy to work on: ${unfit}`)
    const { file } = opened
    try {
      return action(opened)
    } catch (error) {
      if (isDamage(error)) giveUp(file, `it is damaged: ${(error as Error).message}`)
      throw error
    }
  }
  const take = (file: string): void => {
    const outcome = openGeneration(file)
    if (outcome.kind === 'unfit') {
      unfit = outcome.reason
      damaged = outcome.damaged ? file : undefined
      return
    }
    opened = outcome.opened
    unfit = undefined
    state = opened.lookups.readState()
  }

  const inUse = currentGeneration(path)
  if (inUse) take(inUse)
  else unfit = 'there is none yet'
  sweepGenerations(path)

  return {
    state: () => ({ cursor: opened && state?.cursor, complete: opened !== undefined, asOfMs: state?.asOfMs ?? 0, unfit }),
    findRoute: (hostname) => opened && guarded(({ lookups }) => lookups.findRoute(hostname)),
    count: () => opened && guarded(({ lookups }) => lookups.count()),
    async replaceAll(snapshot) {
      const before = currentGeneration(path)
      const file = createGeneration(path)
      try {
        await build(file, snapshot)
        await switchToGeneration(path, file)
      } catch (error) {
        if (currentGeneration(path) !== file) await removeGeneration(file)
        throw error
      }
      const isDamaged = before === damaged
      opened?.db.close()
      opened = undefined
      damaged = undefined
      take(file)
      if (before && isDamaged) await setAside(path, before)
      else if (before) removeReplaced(before)
    },
    apply(batch) {
      guarded(({ changes }) => changes.apply(batch))
      if (state) state = { cursor: batch.cursor ?? state.cursor, asOfMs: batch.asOfMs ?? state.asOfMs }
    },
    async check(signal) {
      const file = opened?.file
      if (!file) return { kind: 'unknown', sentence: 'there is no copy to check' }
      const outcome = await checkCopy(file, signal)
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

/** The operating system lets go of the lock when its holder dies, however it dies. */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    throw new Error(`another process writes the copy at ${path}`, { cause: error })
  }
}

function openGeneration(file: string): { kind: 'opened'; opened: Opened } | { kind: 'unfit'; reason: string; damaged: boolean } {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
    const reason = unfitness(db)
    if (reason) {
      db.close()
      return { kind: 'unfit', reason, damaged: false }
    }
    touchEnds(db)
    // normal: a power cut may take the last batches back, never half of one. Their cursor goes with them, so the feed brings them again.
    db.exec(`pragma synchronous = normal; pragma journal_size_limit = ${LOG_BYTES_KEPT}`)
    return { kind: 'opened', opened: { file, db, lookups: prepareLookups(db), changes: prepareChanges(db) } }
  } catch (error) {
    if (db?.isOpen) db.close()
    return { kind: 'unfit', reason: `it cannot be opened: ${(error as Error).message}`, damaged: isDamage(error) }
  }
}

async function build(file: string, snapshot: Snapshot): Promise<void> {
  const db = new DatabaseSync(file)
  try {
    // Nobody reads it before it is complete, and a half-built file is thrown away: so neither journal nor waiting for the disk.
    db.exec('pragma journal_mode = off; pragma synchronous = off')
    createTables(db)
    const changes = prepareChanges(db)
    for await (const routes of snapshot.routes) changes.apply({ routes })
    for await (const certificates of snapshot.certificates) changes.apply({ certificates })
    changes.apply({ settings: snapshot.settings, challenges: snapshot.challenges })
    changes.complete(snapshot.cursor, snapshot.asOfMs)
    db.exec('pragma journal_mode = wal')
  } finally {
    db.close()
  }
}
