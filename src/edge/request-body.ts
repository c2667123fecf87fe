import type { Socket } from 'node:net'
import type { RequestBody } from './engine.ts'
import { trailersToForward } from './forwarded-trailers.ts'
import { letGo } from './let-go.ts'

export type BodySending = {
  readonly isComplete: boolean
  /** Whether the next move is the visitor's: the upstream would take more. */
  readonly waitsForVisitor: boolean
  stop(): void
}

type SendingListener = {
  /** Something is about to be written; what is until the end of the turn leaves in one piece. */
  gather(): void
  complete(): void
}

const COPIED_BYTES_MAX = 8 * 1024

/** Passes a request's body on to the upstream as it comes, never faster than the upstream takes it. */
export function sendBody(socket: Socket, body: RequestBody, on: SendingListener): BodySending {
  let isComplete = false
  let isBlocked = false

  const send = (chunk: Buffer) => {
    on.gather()
    const taken = body.length === undefined ? writeChunk(socket, chunk) : socket.write(chunk, () => letGo(chunk))
    if (taken) return
    isBlocked = true
    body.pause()
  }
  const goOn = () => {
    isBlocked = false
    body.resume()
  }
  const complete = () => {
    isComplete = true
    stop()
    if (body.length === undefined) {
      on.gather()
      socket.write(`0\r\n${trailerLines(body.trailers())}\r\n`, 'latin1')
    }
    on.complete()
  }
  const stop = () => {
    body.stop()
    socket.off('drain', goOn)
  }

  socket.on('drain', goOn)
  body.start({ take: send, end: complete })
  return {
    get isComplete() {
      return isComplete
    },
    get waitsForVisitor() {
      return !isComplete && !isBlocked
    },
    stop,
  }
}

function writeChunk(socket: Socket, chunk: Buffer): boolean {
  const size = `${chunk.length.toString(16)}\r\n`
  if (chunk.length <= COPIED_BYTES_MAX) {
    const text = chunk.toString('latin1')
    letGo(chunk)
    return socket.write(`${size}${text}\r\n`, 'latin1')
  }
  socket.write(size, 'latin1')
  socket.write(chunk)
  return socket.write('\r\n', 'latin1', () => letGo(chunk))
}

function trailerLines(trailers: readonly string[]): string {
  const kept = trailersToForward(trailers)
  let lines = ''
  for (let i = 0; i < kept.length; i += 2) lines += `${kept[i]}: ${kept[i + 1]}\r\n`
  return lines
}
