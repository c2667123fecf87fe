import type { DatabaseSync } from 'node:sqlite'
import { type Hostname, wildcardOver } from '../hostname.ts'
import type { CopyCounts } from './copy-counts.ts'
import type { CertificateRow, ChallengeRow, Cursor, RouteRow } from './rows.ts'

export type CopyLookups = {
  /** The hostname's own route, else that of the wildcard over it. */
  findRoute(hostname: Hostname): RouteRow | undefined
  findCertificate(hostname: Hostname): CertificateRow | undefined
  findSetting(name: string): Buffer | undefined
  /** The newest of a hostname last. */
  readChallenges(): ChallengeRow[]
  readState(): { cursor: Cursor; asOfMs: number }
  /** Reads every row: see copy-counts.ts for how often that may be. */
  count(): CopyCounts
}

type Values = Record<string, string | number | null | Uint8Array>

/** The read statements of one open copy, prepared once. */
export function prepareLookups(db: DatabaseSync): CopyLookups {
  const route = db.prepare('select * from routes where hostname = ?')
  const certificate = db.prepare('select * from certificates where hostname = ?')
  const setting = db.prepare('select value from settings where name = ?')
  const challenges = db.prepare(
    'select hostname, key_authorization as keyAuthorization, expires_at_ms as expiresAtMs from challenges order by expires_at_ms, key_authorization',
  )
  const counts = db.prepare(
    'select (select count(*) from routes) as routes, (select count(*) from certificates where chain_pem is not null) as certificates',
  )
  const state = db.prepare('select epoch, xid, seq, as_of_ms from state')

  return {
    findRoute(hostname) {
      const row = (route.get(hostname) ?? route.get(wildcardOver(hostname))) as Values | undefined
      return row && toRoute(row)
    },
    findCertificate(hostname) {
      const row = certificate.get(hostname) as Values | undefined
      return row && toCertificate(row)
    },
    findSetting(name) {
      const row = setting.get(name) as Values | undefined
      return row && toBuffer(row.value as Uint8Array)
    },
    readChallenges: () => challenges.all() as ChallengeRow[],
    readState() {
      const row = state.get() as { epoch: string; xid: string; seq: string; as_of_ms: number }
      return { cursor: { epoch: row.epoch, xid: row.xid, seq: row.seq }, asOfMs: row.as_of_ms }
    },
    count: () => counts.get() as CopyCounts,
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
