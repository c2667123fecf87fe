import type { DatabaseSync } from 'node:sqlite'
import { type Hostname, wildcardOver } from '../hostname.ts'
import { Lru } from '../lib/lru.ts'
import type { CertificateRow, ChallengeRow, Cursor, LightRoute, ProjectPart, ProjectRow, Route } from './rows.ts'

export type CopyLookups = {
  /** The hostname's own route, else that of the wildcard over it. */
  findRoute(hostname: Hostname): Route | undefined
  /** So many of the claims behind this one, by name, without those whose project the copy lacks; `last` is where to go on, if there is more. */
  readRoutes(after: Hostname | undefined, count: number): { routes: LightRoute[]; last: Hostname | undefined }
  findCertificate(hostname: Hostname): CertificateRow | undefined
  findBrand(projectId: string): ProjectBrand | undefined
  findSetting(name: string): Buffer | undefined
  /** The newest of a hostname last. */
  readChallenges(): ChallengeRow[]
  readState(): { cursor: Cursor; asOfMs: number }
  /** What the copy holds, and how many of its certificates end before the given moment. */
  readTotals(endBeforeMs: number): { routes: number; certificates: number; ending: number }
  /** Some hostnames, not all: then the wildcard over a name that the copy does not know says nothing about it. */
  isBounded: boolean
  /** From now on each project is read anew: a promoted database may give a version that was lost with the former one a second time. */
  forgetProjects(): void
}

export type ProjectBrand = Pick<ProjectRow, 'name' | 'color' | 'errorPage'>

type Id = number | string // text in the copy of a former release
/** A claim with the version of its project. An array, as `Certificate` is: the object that SQLite's binding makes of as many fields costs a third of a look-up. */
type OwnPart = [
  Id,
  projectVersion: number | null,
  verified: number,
  proofNeeded: number,
  createdAtMs: number,
  version: number,
  metadataJson: string,
]
type Whole = [...OwnPart, slug: string, upstreamUrl: string, upstreamProtocol: ProjectPart['upstreamProtocol']]
type Project = ProjectPart & { projectId: string; version: number }

type Certificate = [
  state: CertificateRow['state'],
  chainPem: string | null,
  sealedKey: Uint8Array | null,
  notAfterMs: number | null,
  reason: string | null,
  nextAttemptAtMs: number | null,
  version: number,
]

const BARE_PART = 'project_id, project_version, verified, proof_needed, created_at_ms, version'
const OWN_PART = `${BARE_PART}, metadata_json`
const CERTIFICATE = 'state, chain_pem, sealed_key, not_after_ms, reason, next_attempt_at_ms, version'
const PROJECTS_IN_MEMORY_MAX = 10_000 // some 200 bytes each

/** The read statements of one open copy, prepared once. */
export function prepareLookups(db: DatabaseSync): CopyLookups {
  const isBounded = (db.prepare('select complete from state').get() as { complete: number }).complete === 0
  const name = db.prepare('select 1 from names where hostname = ?')
  const totals = db.prepare('select routes, certificates, (select count(*) from certificates where not_after_ms < ?) as ending from totals')
  const projects = new Lru<Id, Project>(PROJECTS_IN_MEMORY_MAX)
  const own = db.prepare(`select ${OWN_PART} from whole_routes where hostname = ?`)
  const whole = db.prepare(`select ${OWN_PART}, project_slug, upstream_url, upstream_protocol from whole_routes where hostname = ?`)
  const page = db.prepare(`select hostname, ${BARE_PART}, '' from whole_routes where hostname > ? order by hostname limit ?`)
  const certificate = db.prepare(`select ${CERTIFICATE} from certificates where hostname = ?`)
  for (const statement of [own, whole, page, certificate]) statement.setReturnArrays(true)
  const brand = db.prepare('select name, color, error_page as errorPage from projects where id = ?')
  const setting = db.prepare('select value from settings where name = ?')
  const challenges = db.prepare(
    'select hostname, key_authorization as keyAuthorization, expires_at_ms as expiresAtMs from challenges order by expires_at_ms, key_authorization',
  )
  const state = db.prepare('select epoch, xid, seq, mark, as_of_ms from state')

  // One statement reads a claim and the version of its project: what is remembered of the project is of that moment, or both are read again.
  const withProject = (hostname: Hostname, row: OwnPart): Route | undefined => {
    const known = projects.get(row[0])
    if (known !== undefined && known.version === row[1]) return toRoute(hostname, row, known)
    const read = whole.get(hostname) as Whole | undefined
    const project = read && toProject(read)
    if (!project) return undefined
    projects.set(read[0], project)
    return toRoute(hostname, read, project)
  }

  /** None where the copy lacks its project, which comes and goes before its claims do: then the wildcard counts, as it does behind them. */
  const claimed = (hostname: Hostname): Route | undefined => {
    const row = own.get(hostname) as OwnPart | undefined
    return row && withProject(hostname, row)
  }

  return {
    findRoute(hostname) {
      const route = claimed(hostname)
      if (route) return route
      const wildcard = wildcardOver(hostname)
      if (wildcard === hostname || (isBounded && !name.get(hostname))) return undefined
      return claimed(wildcard)
    },
    readRoutes(after, count) {
      const read = page.all(after ?? '', count) as unknown as [hostname: Hostname, ...OwnPart][]
      const routes = read.flatMap(([hostname, ...row]) => withProject(hostname, row) ?? [])
      return { routes, last: read.length < count ? undefined : read.at(-1)![0] }
    },
    findCertificate(hostname) {
      const row = certificate.get(hostname) as Certificate | undefined
      return row && toCertificate(hostname, row)
    },
    findBrand: (projectId) => brand.get(projectId) as ProjectBrand | undefined,
    findSetting(name) {
      const row = setting.get(name) as { value: Uint8Array } | undefined
      return row && toBuffer(row.value)
    },
    isBounded,
    forgetProjects: () => projects.clear(),
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

function toProject([id, version, , , , , , projectSlug, upstreamUrl, upstreamProtocol]: Whole): Project | undefined {
  return version === null ? undefined : { projectId: String(id), version, projectSlug, upstreamUrl, upstreamProtocol }
}

function toRoute(hostname: Hostname, own: OwnPart | Whole, project: Project): Route {
  const [, , verified, proofNeeded, createdAtMs, version, metadataJson] = own
  return {
    hostname,
    projectId: project.projectId,
    projectSlug: project.projectSlug,
    upstreamUrl: project.upstreamUrl,
    upstreamProtocol: project.upstreamProtocol,
    metadataJson,
    verified: verified === 1,
    proofNeeded: proofNeeded === 1,
    createdAtMs,
    version,
  }
}

function toCertificate(hostname: Hostname, row: Certificate): CertificateRow {
  const [state, chainPem, sealedKey, notAfterMs, reason, nextAttemptAtMs, version] = row
  return { hostname, state, chainPem, sealedKey: sealedKey && toBuffer(sealedKey), notAfterMs, reason, nextAttemptAtMs, version }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
