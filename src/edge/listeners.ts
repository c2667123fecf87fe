import { createServer, type Server, type Socket } from 'node:net'
import { takeProxyHeader } from './proxy-protocol.ts'

/** What a server is told to listen on: a bound socket that came from the supervisor, or an address. */
export type Listen = { fd: number } | { host: string; port: number }

export type ListenerParts = {
  proxyProtocol: 'off' | 'required'
  /** `source`: the visitor's address when a proxy told it. */
  onSocket(socket: Socket, source: string | undefined): void
}

const BACKLOG = 4_096

/** Accepts connections on all of the addresses; resolves when every one listens. */
export async function startListeners(listens: readonly Listen[], parts: ListenerParts) {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  const accept = async (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    if (parts.proxyProtocol === 'off') return parts.onSocket(socket, undefined)
    const source = await takeProxyHeader(socket)
    if (source !== undefined) parts.onSocket(socket, source)
  }
  const close = () => Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))))
  try {
    for (const listen of listens) {
      const server = createServer({ noDelay: true }, (socket) => void accept(socket))
      servers.push(server)
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).once('listening', resolve)
        server.listen({ ...listen, backlog: BACKLOG })
      })
    }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
  return {
    ports: servers.map((server) => (server.address() as { port: number }).port),
    /** Takes no further connection; resolves when the last one that was taken has closed. */
    close,
    destroy() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
