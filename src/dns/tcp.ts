import type { Server, Socket } from 'node:net'
import { createServer, isIPv6 } from 'node:net'
import { unmapped } from '../lib/addresses.ts'
import { networkOf } from './rate-limit.ts'
import type { Responder } from './responder.ts'

const CONNECTIONS_MAX = 500
const CONNECTIONS_A_CLIENT_MAX = 20
const IDLE_TIMEOUT_MS = 10_000 // RFC 7766 §6.2.3
const LIFETIME_MS = 60_000
const QUERY_BYTES_MAX = 4_096 // a question with all that EDNS may add
const UNSENT_BYTES_MAX = 65_536

/**
 * Answers over TCP (RFC 7766): any number of questions a connection, one after the other. At most 500 connections, 20 a client (an IPv4
 * address, or an IPv6 /56); one that is silent for ten seconds, reads nothing of what it asked for, or is a minute old is ended.
 */
export function createTcpServer(responder: Responder): { server: Server; stop(): Promise<void> } {
  const open = new Set<Socket>()
  const perClient = new Map<string, number>()
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {}) // the asker went away
    const client = clientOf(socket.remoteAddress ?? '')
    const count = perClient.get(client) ?? 0
    if (open.size >= CONNECTIONS_MAX || count >= CONNECTIONS_A_CLIENT_MAX) {
      responder.count('dropped')
      socket.destroy()
      return
    }
    open.add(socket)
    perClient.set(client, count + 1)
    const oldAge = setTimeout(() => socket.destroy(), LIFETIME_MS)
    socket.on('close', () => {
      clearTimeout(oldAge)
      open.delete(socket)
      const left = perClient.get(client)! - 1
      if (left > 0) perClient.set(client, left)
      else perClient.delete(client)
    })
    void converse(socket, responder)
  })
  return {
    server,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** Of IPv6 the network, since one person has a whole one; neighbours in IPv4 may be strangers to each other. */
function clientOf(address: string): string {
  const plain = unmapped(address)
  return isIPv6(plain) ? networkOf(plain) : plain
}

/** Reads question by question; the next is not read before the last is answered. */
async function converse(socket: Socket, responder: Responder): Promise<void> {
  socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy())
  let received = Buffer.alloc(0)
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2) {
        const length = received.readUInt16BE(0)
        if (length > QUERY_BYTES_MAX || socket.writableLength > UNSENT_BYTES_MAX) return
        if (received.length < length + 2) break
        const reply = await responder.respond(received.subarray(2, length + 2), 'tcp')
        received = received.subarray(length + 2)
        if (!reply || socket.destroyed) return
        const prefix = Buffer.alloc(2)
        prefix.writeUInt16BE(reply.length)
        socket.write(Buffer.concat([prefix, reply]))
      }
    }
    socket.end()
  } catch {
    // The asker went away in the middle of it.
  } finally {
    socket.destroySoon()
  }
}
