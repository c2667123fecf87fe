import { sql } from 'kysely'
import { type ErrorCode, ServiceError } from '../errors.ts'
import { type Hostname, parseClaimName, readClaimName } from '../hostname.ts'
import type { Actor } from './activity.ts'
import type { ClaimRules } from './claim-rules.ts'
import { type Db, rows } from './db.ts'
import { registerDomain } from './domains.ts'
import type { Project } from './projects.ts'

/** What became of one hostname of many; `hostname` is the text as it came. */
export type BulkOutcome = { hostname: string } & (
  | { outcome: 'claimed' | 'exists' }
  | { outcome: 'refused'; code: ErrorCode; detail: string }
)

// A refusal that concerns one hostname; anything else ends the whole, and what was claimed stays.
const REFUSALS: readonly ErrorCode[] = ['hostname_invalid', 'hostname_reserved', 'wildcards_not_enabled', 'hostname_claimed', 'plan_limit']

/**
 * Claims each hostname as `registerDomain` does, one after the other; a refused one stops none, but for one that the plan has no room for: then there is
 * none for those behind it either. `claimed` is called for each that is new. Ends early when nobody wants the outcome any more; `requireAccess` is asked
 * before each claim, and rejects when who brought the list may not claim any more.
 */
export async function registerDomains(
  db: Db,
  project: Project,
  wanted: {
    texts: readonly string[]
    rules: ClaimRules
    actor: Actor
    claimed(hostname: Hostname): void
    isWanted(): boolean
    requireAccess(): Promise<unknown>
  },
): Promise<BulkOutcome[]> {
  const held = await findHeld(db, project, wanted.texts)
  const outcomes: BulkOutcome[] = []
  let full: ServiceError | undefined
  for (const text of wanted.texts) {
    if (!wanted.isWanted()) break
    try {
      const hostname = parseClaimName(text)
      const isNew = !held.has(hostname)
      if (isNew) {
        if (full) throw full
        await wanted.requireAccess()
        await registerDomain(db, project, { hostname, metadataJson: '{}' }, wanted.rules, wanted.actor)
        held.add(hostname)
        wanted.claimed(hostname)
      }
      outcomes.push({ hostname: text, outcome: isNew ? 'claimed' : 'exists' })
    } catch (error) {
      if (!(error instanceof ServiceError) || !REFUSALS.includes(error.code)) throw error
      if (error.code === 'plan_limit') full = error
      outcomes.push({ hostname: text, outcome: 'refused', code: error.code, detail: error.message })
    }
  }
  return outcomes
}

async function findHeld(db: Db, project: Project, texts: readonly string[]): Promise<Set<Hostname>> {
  const readings = texts.map(readClaimName)
  const names = readings.flatMap((reading) => (reading.kind === 'invalid' ? [] : reading.hostname))
  const found = await rows(
    db,
    sql<{ hostname: Hostname }>`
      select hostname from domains where project_id = ${project.id} and deleted_at is null and hostname = any(${names}::text[])`,
  )
  return new Set(found.map(({ hostname }) => hostname))
}
