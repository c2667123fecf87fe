import { connect, type Socket, type TcpNetConnectOpts } from 'node:net'
import { CHUNK_BYTES_MAX, takeBuffer } from './let-go.ts'

export type Take = (chunk: Buffer) => void

/** Smaller chunks are copied out of the shared buffer; a larger one says that more of its kind follow, which get buffers of their own. */
const COPIED_BYTES_MAX = 32 * 1024

const shared = Buffer.allocUnsafeSlow(CHUNK_BYTES_MAX)
const sockets = new WeakMap<Socket, SharedReads>()

/**
 * Connects as net.connect does. What arrives is read into one buffer that all such sockets share, which costs a fraction of node's way of a new
 * buffer and an event for each read. Without `takeBytes` the socket is a stream like any other.
 */
export function connectSharing(options: TcpNetConnectOpts): Socket {
  const reads = new SharedReads()
  const socket = connect({ ...options, onread: { buffer: reads.next, callback: reads.arrived } })
  reads.socket = socket
  sockets.set(socket, reads)
  return socket
}

/** From now on `take` gets what arrives on the socket, of whatever kind it is, instead of the stream. The chunk is its own. */
export function takeBytes(socket: Socket, take: Take): void {
  const reads = sockets.get(socket)
  if (reads) reads.take = take
  else socket.on('data', take)
}

/** From now on what arrives goes into the stream again. */
export function giveBytesBack(socket: Socket, take: Take): void {
  const reads = sockets.get(socket)
  if (reads) reads.take = undefined
  else socket.off('data', take)
}

class SharedReads {
  socket: Socket | undefined
  take: Take | undefined
  #own: Buffer | undefined

  /** The buffer of the next read. */
  readonly next = (): Buffer => this.#own ?? shared

  /** False: read no more until the stream asks for it. */
  readonly arrived = (bytes: number, buffer: Uint8Array): boolean => {
    const chunk = this.#detach(buffer, bytes)
    if (!this.take) return this.socket!.push(chunk)
    this.take(chunk)
    return true
  }

  #detach(buffer: Uint8Array, bytes: number): Buffer {
    const isLarge = bytes > COPIED_BYTES_MAX
    if (isLarge && buffer === this.#own) {
      const chunk = this.#own.subarray(0, bytes)
      this.#own = takeBuffer()
      return chunk
    }
    this.#own = isLarge ? takeBuffer() : undefined
    const chunk = isLarge ? Buffer.allocUnsafeSlow(bytes) : Buffer.allocUnsafe(bytes)
    chunk.set(buffer.subarray(0, bytes))
    return chunk
  }
}
