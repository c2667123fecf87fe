import type { Hostname } from '../hostname.ts'
import type { CertificateRow, ChallengeRow, Cursor, ProjectRow, Route, RouteRow } from './rows.ts'

export type Change = { kind: 'host' | 'certificate' | 'project' | 'token' | 'setting' | 'challenge'; key: string }

/** What the follower needs from the database. Every function may reject, and may be slow: the follower gives up waiting by itself. */
export type CopySource = {
  /** Another number once what is read may come from another server, which may be behind the one before. Absent where all comes from one. */
  server?(): number
  currentCursor(): Promise<Cursor>
  /**
   * The changes after the cursor, in order, `limit` at most; fewer means that there are no more now, but for those held back for `heldMs`. `lsn`: no
   * change that was visible then is behind that position of the server's log. `promoted`: a standby took over in which what was seen up to
   * `sharedLsn` holds.
   */
  readChanges(
    cursor: Cursor,
    limit: number,
  ): Promise<
    | { changes: Change[]; cursor: Cursor; heldMs?: number; lsn?: string }
    | { kind: 'snapshot-needed' }
    | { kind: 'promoted'; epoch: string; sharedLsn: string }
  >
  loadRoutes(hostnames: Hostname[]): Promise<RouteRow[]>
  loadCertificates(hostnames: Hostname[]): Promise<CertificateRow[]>
  /** Those that are not given up. */
  loadProjects(ids: string[]): Promise<ProjectRow[]>
  eachProjectPage(pageSize: number): AsyncIterable<ProjectRow[]>
  eachRoutePage(pageSize: number): AsyncIterable<RouteRow[]>
  eachCertificatePage(pageSize: number): AsyncIterable<CertificateRow[]>
  /** All that are pending: few at any time, so one that changes brings the others along. */
  loadChallenges(): Promise<ChallengeRow[]>
  readSetting(name: string): Promise<Buffer | undefined>
  /** The newest there is, where `loadRoutes` may answer from a standby, and with what is their projects': for a miss that the copy cannot answer. */
  findRoutes(hostnames: Hostname[]): Promise<Route[]>
  /** The newest as well. */
  findCertificates(hostnames: Hostname[]): Promise<CertificateRow[]>
  /** Calls `onHint` when there may be something to read. A hint may be lost, or come for nothing. */
  listen(onHint: () => void): { stop(): void | Promise<void> }
}
