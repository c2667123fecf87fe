import { type RawBuilder, sql } from 'kysely'

/**
 * Whether a member of this name, at any depth, has this value in JSON as it is stored. By its text: PostgreSQL reads no JSON with the characters that
 * strangers' records and authorities' words may hold, and within their strings a quotation mark never stands alone.
 */
export function says(json: RawBuilder<unknown>, member: string, value: string): RawBuilder<boolean> {
  return sql`coalesce(position(${`"${member}":"${value}"`} in ${json}::text) > 0, false)`
}
