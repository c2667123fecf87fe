import { connect, Socket } from 'node:net'

/** A socket that leads to the IP address `leadsTo` where that is set, under whatever name it is asked to connect to: TLS goes on checking the name. */
export class DatabaseSocket extends Socket {
  leadsTo: string | undefined

  override connect(...args: never[]): this {
    const [port] = args as unknown[]
    if (this.leadsTo === undefined || typeof port !== 'number') return (super.connect as (...given: unknown[]) => this).apply(this, args)
    return super.connect(port, this.leadsTo)
  }
}

/** What a connection to PostgreSQL goes over. Once connected it gives up after so many milliseconds of silence; 0: never. */
export function openDatabaseSocket(silenceMaxMs: number): DatabaseSocket {
  const socket = new DatabaseSocket()
  // Not before: where no server is found nobody ever connects it, and nobody would hear its error but the process.
  socket.once('connect', () => {
    socket.setTimeout(silenceMaxMs, () => socket.destroy(new Error('Connection terminated: the database has been silent for too long')))
  })
  return socket
}

const REACH_TIMEOUT_MS = 900 // it is looked for each second

/** Whether connections are taken there, by PostgreSQL or whatever stands before it. A Unix socket's folder (`/…`) is never out of reach. */
export function isReachable(host: string, port: number): Promise<boolean> {
  if (host.startsWith('/')) return Promise.resolve(true)
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: REACH_TIMEOUT_MS })
    const end = (isReached: boolean) => {
      socket.destroy()
      resolve(isReached)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
