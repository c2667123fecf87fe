import type { Socket } from 'node:net'
import pg from 'pg'
import { createOnce } from '../lib/once.ts'
import type { Place } from './database-hosts.ts'
import { openDatabaseSocket } from './database-socket.ts'
import { SERVER_STATE, type ServerState } from './server-state.ts'

/** What a server says of itself, or why it says nothing; `isLate` where that is not known. */
export type Found = { place: Place; state?: ServerState; reason?: string; isLate?: true }

const ASK_TIMEOUT_MS = 2_500
const KEPT_MS = 10_000 // whoever passes connections on may have bound it to a server that is dead
const LATE = 'timeout expired'

/**
 * Asks the server at a place for its state; answers within 2.5 s and never rejects. A connection that was taken there and stays unanswered is kept for
 * whoever asks next, up to ten seconds: where PostgreSQL stands still, all that were given up wait in its line, and once it goes on it starts a process
 * for each of them before it hears anybody else.
 */
export function createKnocks(): (place: Place) => Promise<Found> {
  const once = createOnce<string, Found>()
  return async (place) => {
    const late = Promise.withResolvers<Found>()
    const timer = setTimeout(late.resolve, ASK_TIMEOUT_MS, { place, reason: `cannot be used: ${LATE}`, isLate: true })
    const found = await Promise.race([once(place.name, () => knockAt(place)), late.promise])
    clearTimeout(timer)
    return found
  }
}

/** Never rejects. */
async function knockAt(place: Place): Promise<Found> {
  const client = new pg.Client({
    connectionString: place.url,
    application_name: 'namesake seeks',
    query_timeout: ASK_TIMEOUT_MS,
    stream: (() => Object.assign(openDatabaseSocket(0), { leadsTo: place.address })) as never,
  })
  client.on('error', () => {})
  const stream = () => client.connection.stream as Socket // with TLS it becomes another one
  const end = () => void stream().destroy(new Error(LATE))
  const untaken = setTimeout(() => stream().readyState !== 'open' && end(), ASK_TIMEOUT_MS).unref()
  const outlived = setTimeout(end, KEPT_MS).unref()
  stream().once('connect', () => stream().unref()) // whoever waits for it has a timer; nobody else stays for it
  try {
    await client.connect()
    const { rows } = await client.query<ServerState>(SERVER_STATE)
    return { place, state: rows[0]! }
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const reason = `cannot be used: ${code} ${message}`.replace(':  ', ': ')
    return { place, reason, ...(message === LATE && { isLate: true }) }
  } finally {
    clearTimeout(untaken)
    clearTimeout(outlived)
    void client.end().catch(() => {})
  }
}
