import { randomBytes } from 'node:crypto'
import type { ClaimRules } from '../../src/core/claim-rules.ts'
import type { Db } from '../../src/core/db.ts'
import { registerDomain } from '../../src/core/domains.ts'
import { createProject, type Project, type ProjectRules } from '../../src/core/projects.ts'
import { type Hostname, parseHostname } from '../../src/hostname.ts'

const PLANS = new Map([
  ['free', 3],
  ['ten', 10],
  ['unlimited', 0],
])

export const EDGE_HOST = parseHostname('edge.namesake.test')
export const CLAIM_RULES: ClaimRules = {
  plans: PLANS,
  edgeHost: EDGE_HOST,
  edgeIps: [],
  reserved: new Set(['api.namesake.test', 'portal.namesake.test']),
  wildcards: false,
}
export const PROJECT_RULES: ProjectRules = { plans: PLANS, checkUpstream: async () => {}, checkCnameTarget: async () => {} }

/** A project of the test's own. */
export function addProject(db: Db, plan = 'unlimited'): Promise<Project> {
  const slug = `p-${randomBytes(6).toString('hex')}`
  return createProject(db, { name: `Project ${slug}`, slug, upstreamUrl: 'https://app.vendor.test', plan }, PROJECT_RULES)
}

/** A hostname that no other test uses. */
export function freshHostname(domain = 'customer.test'): Hostname {
  return parseHostname(`h-${randomBytes(6).toString('hex')}.${domain}`)
}

/** Claims a hostname, a fresh one if none is given, and returns it. */
export async function claim(db: Db, project: Project, hostname = freshHostname(), metadataJson = '{}'): Promise<Hostname> {
  await registerDomain(db, project, { hostname, metadataJson }, CLAIM_RULES)
  return hostname
}
