import type { Actor } from '../core/activity.ts'
import type { Db } from '../core/db.ts'
import type { Project } from '../core/projects.ts'
import { findTokenOwner, recordTokenUses } from '../core/tokens.ts'
import { ServiceError } from '../errors.ts'
import { Lru } from '../lib/lru.ts'
import { createOnce } from '../lib/once.ts'
import type { Log } from '../log.ts'
import { createDatabaseFirst } from './database-first.ts'

/** Whose request it is: the token and the project that it is bound to. */
export type Caller = { readonly tokenId: string; readonly project: Project }

/** Whoever has the token, as the project's activity names them. */
export function actorOf({ tokenId }: Caller): Actor {
  return { kind: 'token', id: tokenId }
}

export type Authenticator = {
  /**
   * The caller behind an Authorization header (RFC 6750). At once when the token was seen within the last seconds, else from the
   * database. Throws `token_invalid`: no header, another scheme, stray blanks, malformed, unknown or revoked.
   */
  authenticate(header: string | undefined): Caller | Promise<Caller>
  /** The token was revoked: the next request with it asks the database. */
  forgetToken(tokenId: string): void
  /**
   * Changes may have been missed: the database is asked again before any token is accepted. Where it cannot be reached, what it said within the
   * last quarter of an hour stands in as in any outage, at the price that a revocation which was missed just before it is not known until its end;
   * a revocation that was heard stands.
   */
  doubtTokens(): void
  /** These projects have changed: the database is asked again before a token of one of them is accepted. */
  doubtProjects(ids: readonly string[]): void
  /** Writes down the last uses that are still in memory. */
  close(): Promise<void>
}

/** `asOf`: the last piece of news there had been when it was read. */
type Remembered = { caller: Caller; atMs: number; asOf: number }

const SCHEME = 'bearer '
const MEMORY_MS = 5_000
const OUTAGE_MS_MAX = 15 * 60_000 // while the database is away nobody can revoke a token there either
const TOKENS_MAX = 10_000
const PROJECTS_DOUBTED_MAX = 10_000
const FLUSH_EVERY_MS = 5_000

/** `isFresh` says whether news of revocations arrives within seconds; while it does not, every request asks the database. */
export function createAuthenticator(parts: { db: Db; log: Log; isFresh(): boolean; now(): Date }): Authenticator {
  const byToken = new Lru<string, Remembered>(TOKENS_MAX)
  const once = createOnce<string, Caller | undefined>()
  const databaseFirst = createDatabaseFirst(parts.now)
  const uses = collectUses(parts)
  let forgettings = 0
  let news = 0
  let allDoubtedAt = 0
  const doubtedAt = new Map<string, number>()

  const look = async (token: string): Promise<Caller | undefined> => {
    const before = { forgettings, news }
    const caller = await findTokenOwner(parts.db, token)
    // A revocation that arrived meanwhile may be of this token, and later than what was read.
    if (!caller || before.forgettings !== forgettings) {
      byToken.delete(token)
      return caller
    }
    byToken.set(token, { caller, atMs: parts.now().getTime(), asOf: before.news })
    return caller
  }
  const isUndoubted = ({ caller, asOf }: Remembered) => asOf >= allDoubtedAt && asOf >= (doubtedAt.get(caller.project.id) ?? 0)
  const ask = async (token: string, known: Remembered | undefined, nowMs: number): Promise<Caller> => {
    const older = known && nowMs - known.atMs < OUTAGE_MS_MAX ? known.caller : undefined
    // A look-up that began before the last news must not be shared by who asks after it.
    const caller = await databaseFirst(() => once(`${forgettings} ${news} ${token}`, () => look(token)), older)
    if (!caller) throw new ServiceError('token_invalid', 'the token is unknown or revoked')
    uses.note(caller.tokenId, nowMs)
    return caller
  }

  const doubtTokens = () => {
    news += 1
    allDoubtedAt = news
    doubtedAt.clear()
  }

  return {
    authenticate(header) {
      const token = readBearer(header)
      const nowMs = parts.now().getTime()
      const known = byToken.peek(token)
      const isCertain = known && isUndoubted(known) && nowMs - known.atMs < MEMORY_MS && parts.isFresh()
      if (!isCertain) return ask(token, known, nowMs)
      uses.note(known.caller.tokenId, nowMs)
      return known.caller
    },
    forgetToken(tokenId) {
      forgettings += 1
      byToken.deleteWhere(({ caller }) => caller.tokenId === tokenId)
    },
    doubtTokens,
    doubtProjects(ids) {
      news += 1
      for (const id of ids) doubtedAt.set(id, news)
      if (doubtedAt.size > PROJECTS_DOUBTED_MAX) doubtTokens()
    },
    close: uses.close,
  }
}

/** The credentials after `Bearer` and exactly one space; what they are worth, the database says. */
function readBearer(header: string | undefined): string {
  if (header === undefined) throw new ServiceError('token_invalid', 'send a token: Authorization: Bearer svc_…')
  if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) {
    throw new ServiceError('token_invalid', 'the Authorization header begins with Bearer and one space')
  }
  const token = header.slice(SCHEME.length)
  if (/\s/.test(token)) throw new ServiceError('token_invalid', 'the token has blanks in it or around it')
  return token
}

/** Gathers when each token was last used, and writes it down every few seconds: no request waits for it or writes on its own. */
function collectUses(parts: { db: Db; log: Log }) {
  let uses = new Map<string, number>()
  const flush = async () => {
    if (uses.size === 0) return
    const batch = uses
    uses = new Map()
    try {
      await recordTokenUses(parts.db, new Map(Array.from(batch, ([id, atMs]) => [id, new Date(atMs)])))
    } catch (error) {
      parts.log.warn({ err: error, tokens: batch.size }, 'cannot record when tokens were last used')
    }
  }
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref()
  return {
    note: (tokenId: string, atMs: number) => void uses.set(tokenId, atMs),
    close() {
      clearInterval(timer)
      return flush()
    },
  }
}
