import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import { answersQuestion, encodeQuery, type Message, type Question } from '../lib/dns-message.ts'
import type { Server } from './servers.ts'
import { readMessage } from './udp.ts'

const LENGTH_BYTES = 2

/**
 * Asks over TCP (RFC 7766): one connection, one query, one answer, without EDNS, which is about the size of datagrams. Resolves to undefined when no answer that fits came before `endsAt`.
 */
export function askOverTcp(server: Server, question: Question, endsAt: number, signal: AbortSignal): Promise<Message | undefined> {
  const id = randomInt(65_536)
  const query = encodeQuery(id, question, false)
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port, signal })
    const chunks: Buffer[] = []
    let bytes = 0
    let wanted = LENGTH_BYTES
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
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes < wanted) return // chunks may be of one byte: they are put together twice
      if (wanted === LENGTH_BYTES) wanted += Buffer.concat(chunks).readUInt16BE(0)
      if (bytes < wanted) return
      const message = Buffer.concat(chunks).subarray(LENGTH_BYTES, wanted)
      end(answersQuestion(message, question) && message.readUInt16BE(0) === id ? readMessage(message) : undefined)
    })
  })
}

function lengthOf(query: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16BE(query.length)
  return length
}
