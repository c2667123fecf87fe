import { AnswerParser } from '../../src/edge/answer-parser.ts'
import { Malformed } from '../../src/edge/chunked-reader.ts'
import { LastFields } from '../../src/edge/http1/collected-fields.ts'
import { createIncomingBody } from '../../src/edge/http1/request-body.ts'
import { readRequestHead } from '../../src/edge/http1/request-head.ts'
import { LastAnswerHead } from '../../src/edge/last-answer-head.ts'
import { UpstreamFailure } from '../../src/edge/upstream.ts'

/** What our readers make of bytes, in terms that do not change when they are rewritten: the only file here that knows them. */
export type OurRequest = { method: string; target: string; host: string; isHttp11: boolean; body: string; trailers: string[] }
export type OurAnswer = { status: number; body: string; trailers: string[]; keepsAlive: boolean }
export type OurReading<Message> = { messages: Message[]; end: 'complete' | 'incomplete' | 'refused' }

/** The requests in these pieces, read as a visitor's connection reads them, up to the first that ends the connection. */
export function readRequestsByUs(pieces: readonly Buffer[]): OurReading<OurRequest> {
  const messages: OurRequest[] = []
  const lastFields = new LastFields()
  let rest: Buffer = Buffer.alloc(0)
  let open: { incoming: ReturnType<typeof createIncomingBody>; request: OurRequest; keepsAlive: boolean } | undefined
  try {
    for (const piece of pieces) {
      rest = Buffer.concat([rest, piece])
      while (rest.length > 0) {
        if (open) {
          rest = rest.subarray(open.incoming.feed(rest, 0))
          if (!open.incoming.isComplete) break
          open.request.trailers = [...open.incoming.body.trailers()]
          messages.push(open.request)
          if (!open.keepsAlive) return { messages, end: 'complete' }
          open = undefined
          continue
        }
        const reading = readRequestHead(rest, 0, lastFields)
        if (reading.kind === 'incomplete') break
        if (reading.kind === 'refused') return { messages, end: 'refused' }
        const { method, target, authority: host, isHttp11, framing, keepsAlive } = reading.head
        rest = rest.subarray(reading.end)
        const request: OurRequest = { method, target, host, isHttp11, body: '', trailers: [] }
        if (framing.kind === 'none') {
          messages.push(request)
          if (!keepsAlive) return { messages, end: 'complete' }
        } else {
          const incoming = createIncomingBody(framing, { pressure() {}, relief() {} })
          incoming.body.start({ take: (chunk) => (request.body += chunk.toString('latin1')), end() {} })
          open = { incoming, request, keepsAlive }
        }
      }
    }
  } catch (error) {
    if (error instanceof Malformed) return { messages, end: 'refused' }
    throw error
  }
  return { messages, end: open || rest.length > 0 ? 'incomplete' : 'complete' }
}

/** The answers in these pieces to requests with these methods, one after the other on one connection that closes behind them. */
export function readAnswersByUs(pieces: readonly Buffer[], methods: readonly string[]): OurReading<OurAnswer> {
  const messages: OurAnswer[] = []
  let rest = [...pieces]
  const lastHead = new LastAnswerHead()
  for (const method of methods) {
    const answer: OurAnswer = { status: 0, body: '', trailers: [], keepsAlive: false }
    const parser = new AnswerParser(
      { method, upgrade: undefined },
      {
        onInterim() {},
        onHead: ({ status, keepsAlive }) => Object.assign(answer, { status, keepsAlive }),
        onData: (chunk) => {
          answer.body += chunk.toString('latin1')
        },
        onEnd: (trailers) => {
          answer.trailers = [...trailers]
        },
      },
      lastHead,
    )
    try {
      while (rest.length > 0 && !parser.isDone) {
        const [piece, ...others] = rest as [Buffer, ...Buffer[]]
        const used = parser.feed(piece)
        rest = used < piece.length ? [piece.subarray(used), ...others] : others
      }
    } catch (error) {
      if (error instanceof UpstreamFailure) return { messages, end: 'refused' }
      throw error
    }
    if (!parser.isDone && !parser.close()) return { messages, end: parser.isUntouched ? 'complete' : 'incomplete' }
    messages.push(answer)
    if (!answer.keepsAlive) return { messages, end: 'complete' }
  }
  return { messages, end: rest.length > 0 ? 'incomplete' : 'complete' }
}
