import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hostname, parseHostname } from '../hostname.ts'
import type { Snapshot } from './copy-writer.ts'
import type { CertificateRow, Cursor, ProjectRow, Route, RouteRow } from './rows.ts'

export function temporaryFolder(): { folder: string; path: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'copy-'))
  return { folder, path: join(folder, 'copy.sqlite'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export const shop = (number: number): Hostname => parseHostname(`shop${number}.customer.com`)

export function routeOf(hostname: Hostname, changes: Partial<RouteRow> = {}): RouteRow {
  return {
    hostname,
    projectId: '7',
    metadataJson: '{"b":1,"a":"ü"}',
    verified: true,
    proofNeeded: false,
    createdAtMs: 1_700_000_000_000,
    version: 1,
    ...changes,
  }
}

export function projectOf(id = '7', changes: Partial<ProjectRow> = {}): ProjectRow {
  const upstream = { upstreamUrl: 'https://app.acme.com', upstreamProtocol: 'http1' as const }
  return { id, slug: 'acme', ...upstream, name: 'Acme', color: null, errorPage: null, version: 1, ...changes }
}

/** As a look-up finds them together. */
export function foundRoute(row: RouteRow, { slug, upstreamUrl, upstreamProtocol } = projectOf(row.projectId)): Route {
  return { ...row, projectSlug: slug, upstreamUrl, upstreamProtocol }
}

export function certificateOf(hostname: Hostname, changes: Partial<CertificateRow> = {}): CertificateRow {
  const secrets = { chainPem: '-----BEGIN CERTIFICATE-----', sealedKey: Buffer.from([0, 255, 10, 13]), notAfterMs: 1_800_000_000_000 }
  return { hostname, state: 'issued', ...secrets, reason: null, nextAttemptAtMs: null, version: 1, ...changes }
}

export const cursorAt = (seq: number, epoch = 'one'): Cursor => ({ epoch, xid: '10', seq: String(seq) })

export async function* pagesOf<T>(...pages: T[][]): AsyncIterable<T[]> {
  yield* pages
}

export function snapshotOf(routes: RouteRow[], changes: Partial<Snapshot> = {}): Snapshot {
  return {
    cursor: cursorAt(1),
    asOfMs: 1_000,
    routes: pagesOf(routes),
    projects: pagesOf([projectOf()]),
    certificates: pagesOf<CertificateRow>(),
    settings: [],
    challenges: [],
    ...changes,
  }
}
