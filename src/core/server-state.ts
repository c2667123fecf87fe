import { sql } from 'kysely'

/** What a server says of itself. `timeline` counts its promotions; a standby has none of its own. */
export type ServerState = { standby: boolean; readOnly: boolean; system: string; timeline: number }

const system = '(select system_identifier::text from pg_control_system())'
const timelineDigits = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)'
const timeline = `('x' || ${timelineDigits})::bit(32)::int`

/** One statement, so that a connection costs one round trip more. What is acknowledged is on disk, whatever the server's default; stricter levels stay. */
export const SERVER_STATE = `
  select pg_is_in_recovery() as standby, current_setting('default_transaction_read_only') = 'on' or pg_is_in_recovery() as "readOnly",
    ${system} as system, case when pg_is_in_recovery() then 0 else ${timeline} end as timeline,
    case when current_setting('synchronous_commit') = 'off' then set_config('synchronous_commit', 'on', false) end`

/** What a server and its standbys have in common with no other. */
export const SYSTEM = sql.raw<string>(system)
/** Fails on a standby. */
export const TIMELINE = sql.raw<number>(timeline)
/** As PostgreSQL writes it, eight hexadecimal digits. Fails on a standby. */
export const TIMELINE_DIGITS = sql.raw<string>(timelineDigits)
