import type { Socket } from 'node:net'
import pg from 'pg'
import type { DatabaseHosts, Place } from './database-hosts.ts'
import { openDatabaseSocket } from './database-socket.ts'
import { SERVER_STATE, type ServerState } from './server-state.ts'

/** `silenceMaxMs`: the connection breaks when nothing passes for so long, used or not; 0: never. One that waits for notifications is asked for a sign of life in time. */
export type HostedConfig = pg.ClientConfig & { hosts: DatabaseHosts; silenceMaxMs: number }

const STATE_QUERY = { text: SERVER_STATE, query_timeout: 5_000 }
const SIGN_OF_LIFE = { text: 'select 1' }
const SILENT_MS_MAX = 3_000
const WATCH_INTERVAL_MS = 1_000
// Read-only after a demotion, shutting down, starting up, in recovery: the server is no longer, or not yet, what this session was made for.
const DEMOTED = /^(25006|57P0[1-3])$/

/**
 * A connection to whichever server of the address will do, made once like any of node-postgres. It breaks off as soon as its server says that it
 * was demoted, or the database is found elsewhere; a statement that stays unanswered for 3 s makes this process look for it. Where the server was out
 * of reach meanwhile and is so no more, the statement is given up: TCP may not send it again for as long as the network was away.
 */
export class HostedClient extends pg.Client {
  readonly #hosts: DatabaseHosts
  #heard = 0
  #heardAt = performance.now()
  #soughtAt = 0
  /** Of the server, since a statement waits. */
  #reach: 'kept' | 'lost' | 'back' = 'kept'
  readonly #silenceMaxMs: number
  #passed = 0

  constructor(config: HostedConfig) {
    super({ ...config, stream: (() => openDatabaseSocket(config.silenceMaxMs)) as never })
    this.#hosts = config.hosts
    this.#silenceMaxMs = config.silenceMaxMs
    // No pool listens before #connect has ended, and what nobody hears ends the process; the statement under way says it too.
    this.on('error', () => {})
  }

  override connect(): Promise<this>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<this> | undefined {
    const standing = this.#connect()
    if (!callback) return standing
    standing.then(() => callback(undefined as never), callback)
    return undefined
  }

  async #connect(): Promise<this> {
    const place = await this.#hosts.choose()
    this.#aimAt(place)
    this.#watch(place) // a server that is cut off answers no connection either
    try {
      await super.connect()
      const { rows } = await super.query<ServerState>(STATE_QUERY)
      this.#hosts.require(place, rows[0]!)
    } catch (error) {
      this.#hosts.doubt(place)
      void this.end().catch(() => {})
      throw error
    }
    return this
  }

  #aimAt({ host, port, address }: Place): void {
    this.host = host
    this.port = port
    Object.assign(this.connection.stream, { leadsTo: address })
  }

  #watch(place: Place): void {
    this.connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (!DEMOTED.test(code ?? '')) return
      this.#hosts.doubt(place)
      Object.assign(this, { _queryable: false }) // the pool gives it to nobody any more
      setImmediate(() => this.#breakOff(`${place.name} was demoted or shut down`)) // the statement's own error comes first
    })
    const forgetMove = this.#hosts.whenMoved(place, () => this.#breakOff('the database is at another server now'))
    const watching = setInterval(() => this.#lookForSilence(place), WATCH_INTERVAL_MS).unref()
    const asking = this.#silenceMaxMs > 0 ? setInterval(() => this.#askIfQuiet(), this.#silenceMaxMs / 4).unref() : undefined
    this.connection.once('end', () => {
      forgetMove()
      clearInterval(watching)
      clearInterval(asking)
      const wasEndedByUs = (this as unknown as { _ending: boolean })._ending
      if (!wasEndedByUs) this.#hosts.doubt(place)
    })
  }

  #breakOff(reason: string): void {
    this.connection.stream.destroy(new Error(`Connection terminated: ${reason}`))
  }

  #lookForSilence(place: Place): void {
    const { bytesRead } = this.connection.stream as Socket
    const isIdle = (this as unknown as { readyForQuery: boolean }).readyForQuery
    const nowMs = performance.now()
    if (isIdle || bytesRead !== this.#heard) {
      this.#heard = bytesRead
      this.#heardAt = nowMs
      this.#reach = 'kept'
    } else if (nowMs - this.#heardAt > SILENT_MS_MAX) {
      if (nowMs - this.#soughtAt > SILENT_MS_MAX) this.#seek(place, nowMs)
      void this.#lookForReach(place)
    }
  }

  #seek(place: Place, nowMs: number): void {
    this.#soughtAt = nowMs
    this.#hosts.doubt(place)
    void this.#hosts.choose().catch(() => {})
  }

  /** A server that is within reach again has until the next look to answer what it was asked before. */
  async #lookForReach(place: Place): Promise<void> {
    const heardAt = this.#heardAt
    const isReached = await this.#hosts.isReached(place)
    if (this.#heardAt !== heardAt) return
    if (isReached && this.#reach === 'back') this.#breakOff(`${place.name} was out of reach`)
    else if (!isReached) this.#reach = 'lost'
    else if (this.#reach === 'lost') this.#reach = 'back'
  }

  /** Whoever only listens has nothing to say for hours: without this the silence would be taken for a server that is gone. */
  #askIfQuiet(): void {
    const { bytesRead, bytesWritten } = this.connection.stream as Socket
    const passed = bytesRead + bytesWritten
    const isIdle = (this as unknown as { readyForQuery: boolean }).readyForQuery
    if (isIdle && passed === this.#passed) super.query(SIGN_OF_LIFE).catch(() => {}) // the connection says itself that it is lost
    this.#passed = passed
  }
}
