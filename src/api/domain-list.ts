import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { DomainPage, DomainQuery } from '../core/domain-page.ts'

/** A listing as it was asked for, by whatever door. */
export type DomainListing = {
  query: { limit?: string; cursor?: string; verified?: 'true' | 'false'; search?: string; order?: 'oldest' | 'newest' }
  /** The listing's own address, for the link to the next page. */
  address: URL
  read(query: DomainQuery): Promise<DomainPage>
  /** The JSON texts of these domains. */
  write(domains: DomainPage['domains']): Promise<string[]>
}

const READ_AT_ONCE_MAX = 1_000

/** Sends a page where `limit` is given, with the way to the next one; else the whole list. */
export async function sendDomainList(reply: FastifyReply, listing: DomainListing): Promise<FastifyReply> {
  const { limit, cursor, verified, search, order } = listing.query
  const narrowed = { verified: verified === undefined ? undefined : verified === 'true', search, order }
  const read = (after?: string) =>
    listing.read({ ...narrowed, limit: limit === undefined ? READ_AT_ONCE_MAX : Number(limit), cursor: after })
  const page = await read(cursor)
  if (limit === undefined && page.nextCursor) return sendJson(reply, Readable.from(everyDomain(page, read, listing.write)))
  if (page.nextCursor) reply.header('link', linkToNext(listing.address, listing.query, page.nextCursor))
  return sendJson(reply, `[${(await listing.write(page.domains)).join(',')}]`)
}

export function sendJson(reply: FastifyReply, json: string | Readable): FastifyReply {
  return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(json)
}

/** The value of a Link header (RFC 8288) that leads to the next page. */
export function linkToNext(address: URL, query: object, cursor: string): string {
  const next = new URL(address)
  for (const [name, value] of Object.entries({ ...query, cursor })) next.searchParams.set(name, value)
  return `<${next.href}>; rel="next"`
}

/**
 * The whole list, read and written in pieces: a project with 100,000 domains holds up nobody else. A domain removed meanwhile may be in it; one that
 * is claimed again meanwhile may be in it twice, or, newest first, not at all.
 */
async function* everyDomain(
  first: DomainPage,
  read: (cursor: string) => Promise<DomainPage>,
  write: DomainListing['write'],
): AsyncIterable<string> {
  yield `[${(await write(first.domains)).join(',')}`
  for (let cursor = first.nextCursor; cursor; ) {
    const page = await read(cursor)
    yield (await write(page.domains)).map((json) => `,${json}`).join('')
    cursor = page.nextCursor
  }
  yield ']'
}
