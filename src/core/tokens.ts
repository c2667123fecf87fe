import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Actor, OPERATOR, recordActivity } from './activity.ts'
import { recordChange } from './changes.ts'
import { type Db, preparedRows, rows, type Tx, transaction } from './db.ts'
import { parseDisplayName } from './display-name.ts'
import { findProject, lockProject, type Project, requireRoleNow } from './projects.ts'

const TOKEN = /^svc_[a-f0-9]{64}$/
const ACTIVE_TOKENS_MAX = 1_000
const REVOKED_TOKENS_SHOWN = 200
const PREVIEW_BYTES = 6

/** An issued token as listings show it. `preview` begins the token's SHA-256: enough to tell which it is, of no use to a thief. */
export type TokenRecord = {
  id: string
  name: string
  preview: string
  createdAt: string
  lastUsedAt: string | null
  revokedAt: string | null
}

/**
 * Issues a token for the project; `token` is in nobody's hands but the caller's from here on. Throws `project_not_found`, `role_insufficient`,
 * `name_invalid`, and `rate_limited` when the project has a thousand.
 */
export async function issueToken(
  db: Db,
  projectSlug: string,
  wanted: { name?: string | undefined },
  actor: Actor = OPERATOR,
): Promise<{ id: string; name: string; token: string; preview: string; createdAt: string }> {
  const name = wanted.name === undefined ? '' : parseDisplayName(wanted.name)
  const project = await findProject(db, projectSlug)
  const token = `svc_${randomBytes(32).toString('hex')}`
  const preview = previewOf(hashOf(token))
  const { id, createdAt } = await transaction(db, async (tx) => {
    await requireRoom(tx, project)
    await requireRoleNow(tx, project, { actor, needed: 'admin' })
    const [row] = await rows(
      tx,
      sql<{ id: string; createdAt: Date }>`
        insert into tokens (project_id, name, hash) values (${project.id}, ${name}, ${hashOf(token)}) returning id, created_at as "createdAt"`,
    )
    const { id } = row!
    await recordActivity(tx, {
      projectId: project.id,
      actor,
      action: 'token.issued',
      subject: name || id,
      detail: { tokenId: id, preview },
    })
    return row!
  })
  return { id, name, token, preview, createdAt: createdAt.toISOString() }
}

/** The project's active tokens and the 200 that were revoked last, oldest first. Throws `project_not_found`. */
export async function listTokens(db: Db, projectSlug: string): Promise<TokenRecord[]> {
  const project = await findProject(db, projectSlug)
  const found = await rows(
    db,
    sql<{ id: string; name: string; begin: Buffer; createdAt: Date; lastUsedAt: Date | null; revokedAt: Date | null }>`
      with shown as (
        select * from tokens where project_id = ${project.id} and revoked_at is null
        union all (
          select * from tokens where project_id = ${project.id} and revoked_at is not null
          order by revoked_at desc, id desc limit ${REVOKED_TOKENS_SHOWN})
      )
      select id, name, substr(hash, 1, ${PREVIEW_BYTES}) as begin, created_at as "createdAt", last_used_at as "lastUsedAt",
        revoked_at as "revokedAt"
      from shown order by id`,
  )
  return found.map(({ begin, createdAt, lastUsedAt, revokedAt, ...token }) => ({
    ...token,
    preview: previewOf(begin),
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
  }))
}

/**
 * From the commit on the token is refused here, and within a second on every machine. Revoking twice is no error. Throws `project_not_found`,
 * `token_not_found` or `role_insufficient`.
 */
export async function revokeToken(db: Db, projectSlug: string, tokenId: string, actor: Actor = OPERATOR): Promise<void> {
  const project = await findProject(db, projectSlug)
  await transaction(db, async (tx) => {
    await lockProject(tx, project)
    await requireRoleNow(tx, project, { actor, needed: 'admin' })
    const [token] = await rows(
      tx,
      sql<{ name: string; revokedAt: Date | null }>`
        select name, revoked_at as "revokedAt" from tokens where project_id = ${project.id} and id::text = ${tokenId} for update`,
    )
    if (!token) throw new ServiceError('token_not_found', `the project has no token ${tokenId}`)
    if (token.revokedAt) return
    await rows(tx, sql`update tokens set revoked_at = now() where project_id = ${project.id} and id::text = ${tokenId}`)
    await recordChange(tx, { kind: 'token', key: tokenId })
    await recordActivity(tx, { projectId: project.id, actor, action: 'token.revoked', subject: token.name || tokenId, detail: { tokenId } })
  })
}

const FIND_OWNER = `
  select t.id as "tokenId", p.id, p.name, p.slug, p.upstream_url as "upstreamUrl",
    p.upstream_protocol as "upstreamProtocol", p.plan, p.proof, p.cname_target as "cnameTarget"
  from tokens t join projects p on p.id = t.project_id where t.hash = $1 and t.revoked_at is null and p.deleted_at is null`

/** The token's project. Undefined for anything that is no token, was never issued or is revoked. */
export async function findTokenOwner(db: Db, token: string): Promise<{ tokenId: string; project: Project } | undefined> {
  if (!TOKEN.test(token)) return undefined
  const [row] = await preparedRows<Project & { tokenId: string }>(db, 'find-token-owner', FIND_OWNER, [hashOf(token)])
  if (!row) return undefined
  const { tokenId, ...project } = row
  return { tokenId, project }
}

/** Notes when tokens were last used (token id → when), all in one statement; an older time never replaces a newer. */
export async function recordTokenUses(db: Db, uses: ReadonlyMap<string, Date>): Promise<void> {
  if (uses.size === 0) return
  await rows(
    db,
    sql`
      with used as (
        select t.id, u.at from unnest(${[...uses.keys()]}::bigint[], ${[...uses.values()]}::timestamptz[]) as u(id, at)
        join tokens t on t.id = u.id where t.last_used_at is null or t.last_used_at < u.at
        order by t.id for update of t
      )
      update tokens set last_used_at = used.at from used where tokens.id = used.id`,
  )
}

/** Locks the project, so that tokens issued side by side are counted one after the other, and none by a project that is being deleted. */
async function requireRoom(tx: Tx, project: Project): Promise<void> {
  await lockProject(tx, project)
  const [held] = await rows(
    tx,
    sql<{ tokens: number }>`select count(*)::int as tokens from tokens where project_id = ${project.id} and revoked_at is null`,
  )
  if (held!.tokens >= ACTIVE_TOKENS_MAX)
    throw new ServiceError('rate_limited', `the project has ${held!.tokens} active tokens: revoke those that are not in use first`)
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function previewOf(hash: Buffer): string {
  return `sha256:${hash.toString('hex', 0, PREVIEW_BYTES)}…`
}
