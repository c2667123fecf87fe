import type { Hostname } from '../hostname.ts'

/** What is a hostname's own; the rest of its route is its project's. `version` grows with every change of the claim. */
export type RouteRow = {
  hostname: Hostname
  projectId: string
  metadataJson: string
  verified: boolean
  proofNeeded: boolean
  createdAtMs: number
  version: number
}

/** What the routes of a project have in common. */
export type ProjectPart = { projectSlug: string; upstreamUrl: string; upstreamProtocol: 'http1' | 'h2' | 'h2c' }

/** A hostname as the edges and resolve need it. */
export type Route = RouteRow & ProjectPart

/** As the edges need it: the metadata may be 16 KB, and is the vendor's alone. */
export type LightRoute = Omit<Route, 'metadataJson' | 'createdAtMs' | 'version'>

/** What a project says of all its hostnames, and how its pages look at the edge. `errorPage`: HTML of its own. */
export type ProjectRow = {
  id: string
  slug: string
  upstreamUrl: string
  upstreamProtocol: ProjectPart['upstreamProtocol']
  name: string
  color: string | null
  errorPage: string | null
  version: number
}

export type CertificateRow = {
  hostname: Hostname
  state: 'issued' | 'pending' | 'failed'
  chainPem: string | null
  sealedKey: Buffer | null
  notAfterMs: number | null
  reason: string | null
  nextAttemptAtMs: number | null
  version: number
}

/** A small value shared by all machines; undefined when there is none (any more). */
export type SettingRow = { name: string; value: Buffer | undefined }

/** A TLS-ALPN-01 challenge that an authority may come for (RFC 8737). Of several for one hostname the one that expires last is the newest. */
export type ChallengeRow = { hostname: Hostname; keyAuthorization: string; expiresAtMs: number }

/** A place in the database's change feed. */
export type Cursor = { epoch: string; xid: string; seq: string; mark?: string | undefined }

/** What the local copy holds of each table after one step, and the place in the feed that it stands for. */
export type CopyBatch = {
  routes?: RouteRow[]
  removed?: Hostname[]
  projects?: ProjectRow[]
  removedProjects?: string[]
  certificates?: CertificateRow[]
  removedCertificates?: Hostname[]
  settings?: SettingRow[]
  /** All that are pending: those before go. */
  challenges?: ChallengeRow[]
  /** Of a bounded copy: names of which it now knows all, each with when it was last used. */
  known?: NameUse[]
  cursor?: Cursor
  asOfMs?: number
}

export type NameUse = { hostname: Hostname; usedAtMs: number }

/** What a process must look up again, should it remember it. `projects` holds ids, `tokens` token ids. */
export type ChangedKeys = {
  routes: Hostname[]
  certificates: Hostname[]
  projects: string[]
  tokens: string[]
  settings: string[]
  challenges: Hostname[]
}
