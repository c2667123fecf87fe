import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import { encodeQuery, type Message, type Question } from '../lib/dns-message.ts'
import type { Server } from './servers.ts'
import { readAnswer } from './udp.ts'

/**
 * Asks over TCP (RFC 7766): one connection, one query, one answer, without EDNS, which is about the size of datagrams. Resolves to undefined when no answer that fits came before `endsAt`.
 */
export function askOverTcp(server: Server, question: Question, endsAt: number, signal: AbortSignal): Promise<Message | undefined> {
  const id = randomInt(65_536)
  const query = encodeQuery(id, question, false)
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port, signal })
    let received = Buffer.alloc(0)
    const end = (message: Message | undefined) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(message)
    }
    const timer = setTimeout(end, Math.max(0, endsAt - performance.now()), undefined)
    socket.on('error', () => end(undefined))
    socket.on('close', () => end(undefined))
    socket.on('connect', () => socket.write(Buffer.concat([lengthOf(query), query])))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2 || received.length < received.readUInt16BE(0) + 2) return
      const message = readAnswer(received.subarray(2, received.readUInt16BE(0) + 2), question)
      end(message?.id === id ? message : undefined)
    })
  })
}

function lengthOf(query: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(query.length)
  return length
}
