import { sql } from 'kysely'
import { type Hostname, readHostname } from '../hostname.ts'
import { type Db, rows } from './db.ts'

const KEPT_FOR = sql.lit('10 minutes') // longer than any attempt; a worker that died leaves nothing behind for good

/** `key`: of tls-alpn-01 the hostname, of dns-01 the label below the zone. `value`: what the authority is to find there. */
export type PendingChallenge = { type: 'tls-alpn-01' | 'dns-01'; key: string; value: string }

/** Makes the answer to a challenge known to all machines; tls-alpn-01 is told to the edges through the feed. */
export async function presentChallenge(db: Db, { type, key, value }: PendingChallenge): Promise<void> {
  await rows(
    db,
    sql`
      with presented as (
        insert into challenges (type, key, value, expires_at) values (${type}, ${key}, ${value}, now() + interval ${KEPT_FOR})
        on conflict (type, key, value) do update set expires_at = excluded.expires_at returning key
      )
      insert into changes (kind, key) select 'challenge', key from presented where ${type} = 'tls-alpn-01'`,
  )
}

/** Takes the answer away again. */
export async function withdrawChallenge(db: Db, { type, key, value }: PendingChallenge): Promise<void> {
  await rows(
    db,
    sql`
      with withdrawn as (
        delete from challenges where type = ${type} and key = ${key} and value = ${value} returning key
      )
      insert into changes (kind, key) select 'challenge', key from withdrawn where ${type} = 'tls-alpn-01'`,
  )
}

/** The values that are to be found now under one key, or under all of them. */
export async function findChallenges(
  db: Db,
  type: PendingChallenge['type'],
  key?: string,
): Promise<(Pick<PendingChallenge, 'key' | 'value'> & { expiresAtMs: number })[]> {
  return rows(
    db,
    sql`select key, value, (extract(epoch from expires_at) * 1000)::float8 as "expiresAtMs" from challenges
      where type = ${type} and expires_at > now() and (${key ?? null}::text is null or key = ${key ?? null}::text) order by key, value`,
  )
}

/** The tls-alpn-01 challenges of all hostnames, as the edges hold them. What is no hostname is left out. */
export async function loadTlsAlpnChallenges(db: Db): Promise<{ hostname: Hostname; keyAuthorization: string; expiresAtMs: number }[]> {
  return (await findChallenges(db, 'tls-alpn-01')).flatMap(({ key, value, expiresAtMs }) => {
    const reading = readHostname(key)
    return reading.kind === 'hostname' ? [{ hostname: reading.hostname, keyAuthorization: value, expiresAtMs }] : []
  })
}

/** Deletes what dead workers left. To be called now and then. */
export async function pruneChallenges(db: Db): Promise<void> {
  await rows(
    db,
    sql`
      with expired as (delete from challenges where expires_at < now() returning type, key)
      insert into changes (kind, key) select distinct 'challenge', key from expired where type = 'tls-alpn-01'`,
  )
}
