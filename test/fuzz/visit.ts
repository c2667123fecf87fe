import { once } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { openTls, type Target } from '../support/raw-visitor.ts'
import { type ReadAnswer, readAnswersByLlhttp } from './llhttp.ts'

/** What a visitor got on one connection. */
export type Visit = { answers: ReadAnswer[]; closed: boolean }

const WAIT_MS_MAX = 10_000
const GONE_MS_MAX = 2_000

/**
 * Visits the edge again and again with one hostname, each time on a connection of its own whose session is resumed, and says the bytes that
 * it is given, in the pieces that it is given.
 */
export function createVisitor(target: Target) {
  let session: Buffer | undefined

  return {
    /**
     * Waits until the edge has closed the connection or answered `count` requests, then goes. `methods` are those of the requests; without
     * them nobody could say which answers have a body.
     */
    async visit(pieces: readonly Buffer[], { methods, count }: { methods: readonly string[]; count: number }): Promise<Visit> {
      const socket = await openTls({ ...target, more: session ? { session } : {} })
      socket.once('session', (fresh) => (session = fresh))
      const chunks: Buffer[] = []
      const answers = () => finalAnswers(Buffer.concat(chunks), methods)
      const done = new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('the edge neither answered nor closed the connection')), WAIT_MS_MAX)
        const end = () => {
          clearTimeout(timer)
          resolve()
        }
        socket.once('close', end)
        socket.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          if (Number.isFinite(count) && answers().length >= count) end()
        })
        if (count === 0) setImmediate(end)
      })
      for (const piece of pieces) {
        if (!socket.writable) break
        socket.write(piece)
        if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve))
      }
      try {
        await done
      } finally {
        const closed = socket.destroyed
        await leave(socket)
        if (!closed) socket.destroy()
      }
      return { answers: answers(), closed: true }
    },
  }
}

async function leave(socket: TLSSocket): Promise<void> {
  if (socket.destroyed) return
  const closed = once(socket, 'close', { signal: AbortSignal.timeout(GONE_MS_MAX) })
  socket.end()
  await closed.catch(() => {})
}

function finalAnswers(bytes: Buffer, methods: readonly string[]): ReadAnswer[] {
  return readAnswersByLlhttp(bytes, methods, false).messages.filter(({ status }) => status >= 200)
}
