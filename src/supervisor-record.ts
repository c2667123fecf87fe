import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from './log.ts'
import { identify, type ProcessIdentity } from './processes.ts'
import type { Role } from './role-tree.ts'

/** A reload or an upgrade, and what came of it. `number` counts them from the start of the supervisor. */
export type DeployRecord = {
  number: number
  kind: 'reload' | 'upgrade'
  state: 'running' | 'done' | 'failed'
  /** What came of it, as a person reads it. */
  sentence: string
  from: string
  to: string
}

/** What a running supervisor says of itself in the data folder, for the commands that send it signals. */
export type SupervisorRecord = ProcessIdentity & {
  version: string
  /** Those that run here; a former release does not say it. */
  roles?: readonly Role[]
  /** Where SIGHUP means that the terminal was closed. */
  terminal: boolean
  deploy?: DeployRecord
}

type Said = Omit<SupervisorRecord, keyof ProcessIdentity>

const RETRY_MS = 2_000

/**
 * Keeps the record of this process. `write` never throws: what cannot be written, as on a full disk, is logged and tried again until it can, or
 * until there is something newer to write.
 */
export function keepRecord(dataDir: string, log: Log): { write(record: Said): void; close(): void } {
  let retry: NodeJS.Timeout | undefined
  const attempt = (record: Said, isFirst: boolean): void => {
    clearTimeout(retry)
    try {
      writeRecord(dataDir, record)
    } catch (error) {
      if (isFirst)
        log.error(
          { err: error },
          'supervisor.json cannot be written: until it can, namesake reload and upgrade do not say what comes of them',
        )
      retry = setTimeout(attempt, RETRY_MS, record, false).unref()
    }
  }
  return { write: (record) => attempt(record, true), close: () => clearTimeout(retry) }
}

/** In one step. */
function writeRecord(dataDir: string, record: Said): void {
  const path = join(dataDir, 'supervisor.json')
  writeFileSync(`${path}.next`, JSON.stringify({ ...identify(process.pid), ...record }), { mode: 0o644 })
  renameSync(`${path}.next`, path)
}

/** The record of that very process; undefined where it wrote none, as a release that knows neither reload nor upgrade. */
export function readRecord(dataDir: string, supervisor: ProcessIdentity): SupervisorRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(join(dataDir, 'supervisor.json'), 'utf8')) as SupervisorRecord
    return record.pid === supervisor.pid && record.startedAt === supervisor.startedAt ? record : undefined
  } catch {
    return undefined
  }
}
