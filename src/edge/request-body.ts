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

const COPIED_BYTES_MAX = 8 * 1024

/** Passes a request's body on to the upstream as it comes, never faster than the upstream takes it. */
export function sendBody(socket: Socket, { stream, length, trailers }: RequestBody, onComplete: () => void): BodySending {
  let isComplete = false
  let isBlocked = false

  const send = (chunk: Buffer) => {
    const taken = length === undefined ? writeChunk(socket, chunk) : socket.write(chunk, () => letGo(chunk))
    if (taken) return
    isBlocked = true
    stream.pause()
  }
  const goOn = () => {
    isBlocked = false
    stream.resume()
  }
  const complete = () => {
    isComplete = true
    stop()
    if (length === undefined) socket.write(`0\r\n${trailerLines(trailers())}\r\n`, 'latin1')
    onComplete()
  }
  const stop = () => {
    stream.off('data', send).off('end', complete)
    socket.off('drain', goOn)
  }

  stream.on('data', send).once('end', complete)
  socket.on('drain', goOn)
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
  if (chunk.length <= COPIED_BYTES_MAX) return socket.write(`${size}${chunk.toString('latin1')}\r\n`, 'latin1')
  socket.cork()
  socket.write(size, 'latin1')
  socket.write(chunk)
  const taken = socket.write('\r\n', 'latin1', () => letGo(chunk))
  socket.uncork()
  return taken
}

function trailerLines(trailers: readonly string[]): string {
  const kept = trailersToForward(trailers)
  let lines = ''
  for (let i = 0; i < kept.length; i += 2) lines += `${kept[i]}: ${kept[i + 1]}\r\n`
  return lines
}
