import type { Socket } from 'node:net'

export type LineLimits = { lineBytesMax: number; queueBytesMax: number }

export type Lines = {
  /** Queues one encoded message; a peer that does not read as fast as we write is cut off, never waited for. */
  send(line: Buffer): void
  /** Whether the queue is less than half full: for what may as well be left out. */
  hasRoom(): boolean
}

const NEWLINE = 10

export function encodeLine(message: object): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`)
}

/**
 * Messages as lines of JSON over a socket. Whatever breaks a rule (a line too long, not JSON, a queue too long, a handler that throws)
 * destroys the socket: both ends treat a lost connection as a fresh start.
 */
export function carryLines(socket: Socket, limits: LineLimits, onMessage: (message: unknown) => void): Lines {
  let parts: Buffer[] = []
  let held = 0

  const endLine = (rest: Buffer): void => {
    const line = parts.length > 0 ? Buffer.concat([...parts, rest]) : rest
    parts = []
    held = 0
    onMessage(JSON.parse(line.toString('utf8')))
  }
  const receive = (chunk: Buffer): void => {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      if (held + end - from > limits.lineBytesMax) throw new Error('a line is too long')
      endLine(chunk.subarray(from, end))
      from = end + 1
    }
    if (from === chunk.length) return
    parts.push(chunk.subarray(from))
    held += chunk.length - from
    if (held > limits.lineBytesMax) throw new Error('a line is too long')
  }

  socket.on('data', (chunk: Buffer) => {
    try {
      receive(chunk)
    } catch (error) {
      socket.destroy(error as Error)
    }
  })

  return {
    send(line) {
      if (socket.destroyed) return
      if (socket.writableLength + line.length > limits.queueBytesMax) socket.destroy(new Error('the other end does not read'))
      else socket.write(line)
    },
    hasRoom: () => socket.writableLength < limits.queueBytesMax / 2,
  }
}
