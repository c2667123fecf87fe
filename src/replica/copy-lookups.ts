import type { DatabaseSync } from 'node:sqlite'
import { type Hostname, wildcardOver } from '../hostname.ts'
import type { CertificateRow, ChallengeRow, Cursor, ProjectRow, RouteRow } from './rows.ts'

export type CopyLookups = {
  /** The hostname's own route, else that of the wildcard over it. */
  findRoute(hostname: Hostname): RouteRow | undefined
  findCertificate(hostname: Hostname): CertificateRow | undefined
  findProject(id: string): ProjectRow | undefined
  findSetting(name: string): Buffer | undefined
  /** The newest of a hostname last. */
  readChallenges(): ChallengeRow[]
  readState(): { cursor: Cursor; asOfMs: number }
  /** What the copy holds, and how many of its certificates end before the given moment. */
  readTotals(endBeforeMs: number): { routes: number; certificates: number; ending: number }
  /** Some hostnames, not all: then the wildcard over a name that the copy does not know says nothing about it. */
  isBounded: boolean
}

type Values = Record<string, string | number | null | Uint8Array>

/** The read statements of one open copy, prepared once. */
export function prepareLookups(db: DatabaseSync): CopyLookups {
  const isBounded = (db.prepare('select complete from state').get() as { complete: number }).complete === 0
  const name = db.prepare('select 1 from names where hostname = ?')
  const totals = db.prepare('select routes, certificates, (select count(*) from certificates where not_after_ms < ?) as ending from totals')
  const route = db.prepare('select * from routes where hostname = ?')
  const certificate = db.prepare('select * from certificates where hostname = ?')
  const project = db.prepare('select id, name, color, error_page as errorPage, version from projects where id = ?')
  const setting = db.prepare('select value from settings where name = ?')
  const challenges = db.prepare(
    'select hostname, key_authorization as keyAuthorization, expires_at_ms as expiresAtMs from challenges order by expires_at_ms, key_authorization',
  )
  const state = db.prepare('select epoch, xid, seq, mark, as_of_ms from state')

  return {
    findRoute(hostname) {
      const own = route.get(hostname) as Values | undefined
      if (own) return toRoute(own)
      if (isBounded && !name.get(hostname)) return undefined
      const over = route.get(wildcardOver(hostname)) as Values | undefined
      return over && toRoute(over)
    },
    findCertificate(hostname) {
      const row = certificate.get(hostname) as Values | undefined
      return row && toCertificate(row)
    },
    findProject: (id) => project.get(id) as ProjectRow | undefined,
    findSetting(name) {
      const row = setting.get(name) as Values | undefined
      return row && toBuffer(row.value as Uint8Array)
    },
    isBounded,
    readTotals: (endBeforeMs) => totals.get(endBeforeMs) as { routes: number; certificates: number; ending: number },
    readChallenges: () => challenges.all() as ChallengeRow[],
    readState() {
      const row = state.get() as { epoch: string; xid: string; seq: string; mark: string | null; as_of_ms: number }
      return {
        cursor: { epoch: row.epoch, xid: row.xid, seq: row.seq, ...(row.mark !== null && { mark: row.mark }) },
        asOfMs: row.as_of_ms,
      }
    },
  }
}

function toRoute(row: Values): RouteRow {
  return {
    hostname: row.hostname as Hostname,
    projectId: row.project_id as string,
    projectSlug: row.project_slug as string,
    upstreamUrl: row.upstream_url as string,
    upstreamProtocol: row.upstream_protocol as RouteRow['upstreamProtocol'],
    metadataJson: row.metadata_json as string,
    verified: row.verified === 1,
    proofNeeded: row.proof_needed === 1,
    createdAtMs: row.created_at_ms as number,
    version: row.version as number,
  }
}

function toCertificate(row: Values): CertificateRow {
  return {
    hostname: row.hostname as Hostname,
    state: row.state as CertificateRow['state'],
    chainPem: row.chain_pem as string | null,
    sealedKey: row.sealed_key === null ? null : toBuffer(row.sealed_key as Uint8Array),
    notAfterMs: row.not_after_ms as number | null,
    reason: row.reason as string | null,
    nextAttemptAtMs: row.next_attempt_at_ms as number | null,
    version: row.version as number,
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
