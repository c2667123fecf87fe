import type { DatabaseSync } from 'node:sqlite'
import type { Hostname } from '../hostname.ts'
import type { CopyNames } from './copy-names.ts'
import type { CopyScope } from './copy-schema.ts'
import type { CertificateRow, CopyBatch, Cursor, NameUse, ProjectRow, RouteRow } from './rows.ts'

export type CopyChanges = {
  /** One transaction. Rows of an older version than the stored one are ignored; equal versions are written again, so repetition is harmless. */
  apply(batch: CopyBatch): void
  /** Declares a copy that holds everything that it is to hold, as of the cursor. */
  complete(cursor: Cursor, asOfMs: number): void
  /** Notes when names were used; those that the copy does not know stay unknown. */
  use(uses: readonly NameUse[]): void
  /** Has no name count as used later than then. */
  capUses(atMs: number): void
}

/** The write statements of one open copy, prepared once. */
export function prepareChanges(db: DatabaseSync, scope: CopyScope, names: CopyNames): CopyChanges {
  const putRoute = db.prepare(`
    insert into routes values (:hostname, :projectId, :verified, :proofNeeded, :createdAtMs, :version, :metadataJson)
    on conflict (hostname) do update set
      project_id = excluded.project_id, verified = excluded.verified, proof_needed = excluded.proof_needed,
      created_at_ms = excluded.created_at_ms, version = excluded.version, metadata_json = excluded.metadata_json
    where excluded.version >= routes.version`)
  const putCertificate = db.prepare(`
    insert into certificates values (:hostname, :state, :chainPem, :sealedKey, :notAfterMs, :reason, :nextAttemptAtMs, :version)
    on conflict (hostname) do update set
      state = excluded.state, chain_pem = excluded.chain_pem, sealed_key = excluded.sealed_key, not_after_ms = excluded.not_after_ms,
      reason = excluded.reason, next_attempt_at_ms = excluded.next_attempt_at_ms, version = excluded.version
    where excluded.version >= certificates.version`)
  const putProject = db.prepare(`
    insert into projects values (:id, :version, :slug, :upstreamUrl, :upstreamProtocol, :name, :color, :errorPage)
    on conflict (id) do update set
      version = excluded.version, slug = excluded.slug, upstream_url = excluded.upstream_url, upstream_protocol = excluded.upstream_protocol,
      name = excluded.name, color = excluded.color, error_page = excluded.error_page
    where excluded.version >= projects.version`)
  const putChallenge = db.prepare('insert or replace into challenges values (?, ?, ?)')
  const removeChallenges = db.prepare('delete from challenges')
  const putSetting = db.prepare('insert into settings values (?, ?) on conflict (name) do update set value = excluded.value')
  const removeRoute = db.prepare('delete from routes where hostname = ?')
  const removeProject = db.prepare('delete from projects where id = ?')
  const removeCertificate = db.prepare('delete from certificates where hostname = ?')
  const removeSetting = db.prepare('delete from settings where name = ?')
  const moveCursor = db.prepare('update state set epoch = ?, xid = ?, seq = ?, mark = ?')
  const moveMoment = db.prepare('update state set as_of_ms = ?')
  const putState = db.prepare('insert into state values (1, ?, ?, ?, ?, ?, ?, ?)')

  const isBounded = scope.hostnamesMax > 0
  /** A name may leave a bounded copy while its rows are loaded; then they stay out, since news of it are passed over from then on. */
  const isKnown = (hostname: Hostname): boolean => !isBounded || names.holds(hostname)

  const write = (batch: CopyBatch): void => {
    for (const hostname of batch.removed ?? []) removeRoute.run(hostname)
    for (const hostname of batch.removedCertificates ?? []) removeCertificate.run(hostname)
    for (const id of batch.removedProjects ?? []) removeProject.run(id)
    for (const project of batch.projects ?? []) putProject.run(projectValues(project))
    if (isBounded) noteNames(batch)
    for (const route of batch.routes ?? []) if (isKnown(route.hostname)) putRoute.run(routeValues(route))
    for (const certificate of batch.certificates ?? [])
      if (isKnown(certificate.hostname)) putCertificate.run(certificateValues(certificate))
    for (const { name, value } of batch.settings ?? []) {
      if (value) putSetting.run(name, value)
      else removeSetting.run(name)
    }
    if (batch.challenges) removeChallenges.run()
    for (const { hostname, keyAuthorization, expiresAtMs } of batch.challenges ?? [])
      putChallenge.run(hostname, keyAuthorization, expiresAtMs)
    if (isBounded && batch.known) bound()
    if (batch.cursor) moveCursor.run(batch.cursor.epoch, batch.cursor.xid, batch.cursor.seq, batch.cursor.mark ?? null)
    if (batch.asOfMs !== undefined) moveMoment.run(batch.asOfMs)
  }

  const noteNames = ({ removed, routes, known }: CopyBatch): void => {
    const back = new Set(routes?.map(({ hostname }) => hostname))
    for (const hostname of removed ?? []) if (!back.has(hostname) && names.drop(hostname)) removeCertificate.run(hostname)
    for (const use of known ?? []) names.keep(use)
  }
  const bound = (): void => {
    for (const hostname of names.evict(scope.hostnamesMax)) {
      removeRoute.run(hostname)
      removeCertificate.run(hostname)
    }
  }

  const whole = (action: () => void): void => {
    db.exec('begin immediate')
    try {
      action()
      db.exec('commit')
    } catch (error) {
      if (db.isTransaction) db.exec('rollback')
      throw error
    }
  }

  return {
    apply: (batch) => whole(() => write(batch)),
    use: (uses) => whole(() => uses.forEach(names.use)),
    capUses: (atMs) => whole(() => names.capUses(atMs)),
    complete: ({ epoch, xid, seq, mark }, asOfMs) =>
      void putState.run(epoch, xid, seq, mark ?? null, Number(scope.hostnamesMax === 0), Number(scope.metadata), asOfMs),
  }
}

function routeValues(route: RouteRow) {
  const { hostname, projectId, metadataJson, createdAtMs, version } = route
  const flags = { verified: Number(route.verified), proofNeeded: Number(route.proofNeeded) }
  return { hostname, projectId, metadataJson, ...flags, createdAtMs, version }
}

function projectValues(project: ProjectRow) {
  const { id, version, slug, upstreamUrl, upstreamProtocol, name, color, errorPage } = project
  return { id, version, slug, upstreamUrl, upstreamProtocol, name, color, errorPage }
}

function certificateValues(certificate: CertificateRow) {
  const { hostname, state, chainPem, sealedKey, notAfterMs, reason, nextAttemptAtMs, version } = certificate
  return { hostname, state, chainPem, sealedKey, notAfterMs, reason, nextAttemptAtMs, version }
}
