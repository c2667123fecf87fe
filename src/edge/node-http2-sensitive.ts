import { sensitiveHeaders } from 'node:http2'
import { neverIndexed } from './http2/never-indexed.ts'

/** Remembers what node:http2 says of fields that came as literals "never indexed" (RFC 7541 §6.2.3). */
export function noteNeverIndexed(headers: object): void {
  for (const name of (Reflect.get(headers, sensitiveHeaders) as string[] | undefined) ?? []) neverIndexed.add(name)
}

/** The same head for node:http2, told which of these names are such. */
export function sayNeverIndexed<Head extends object>(head: Head, names: readonly string[]): Head {
  return Object.assign(head, { [sensitiveHeaders]: names.filter((name) => neverIndexed.has(name)) })
}
