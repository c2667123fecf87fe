import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import type { Project } from './projects.ts'

/** The record by which a project claims a hostname. Times in ISO 8601 with milliseconds; metadata as the raw JSON text that was sent. */
export type DomainRecord = {
  hostname: Hostname
  projectSlug: string
  verified: boolean
  verifiedAt: string | null
  createdAt: string
  metadataJson: string
}

export type DomainRow = { hostname: Hostname; createdAt: Date; verifiedAt: Date | null; metadataJson: string }

export function toDomainRecord(row: DomainRow, project: Project): DomainRecord {
  return {
    hostname: row.hostname,
    projectSlug: project.slug,
    verified: row.verifiedAt !== null,
    verifiedAt: row.verifiedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    metadataJson: row.metadataJson,
  }
}

/** The columns of a domain's record, of a row called `d`. */
export const DOMAIN = sql<DomainRow>`d.hostname, d.created_at as "createdAt", d.verified_at as "verifiedAt", d.metadata as "metadataJson"`

/** Of a row called `d`: the project's claim on the hostname, while it lasts. */
export function live(project: Project, hostname: Hostname) {
  return sql<boolean>`d.hostname = ${hostname} and d.project_id = ${project.id} and d.deleted_at is null`
}

export function domainNotFound(hostname: Hostname): ServiceError {
  return new ServiceError('domain_not_found', `${hostname} is not a domain of this project`)
}
