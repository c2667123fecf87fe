import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identify, type ProcessIdentity } from './processes.ts'

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
  /** Where SIGHUP means that the terminal was closed. */
  terminal: boolean
  deploy?: DeployRecord
}

/** Writes the record of this process, in one step. */
export function writeRecord(dataDir: string, record: Omit<SupervisorRecord, keyof ProcessIdentity>): void {
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
