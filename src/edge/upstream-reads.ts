import { connect, type Socket, type TcpNetConnectOpts } from 'node:net'
import { commonBuffer, copyOf, giveBack, keep, lend, QUICK_READ_BYTES_MAX, READ_BYTES_MAX, takeBuffer } from './let-go.ts'
import { READS_ARE_PUSHED, type Take, takePushed } from './pushed-reads.ts'
import { forgoTimeout } from './untimed-sockets.ts'

/** Smaller chunks are handed on from the shared buffer; a larger one says that more of its kind follow, which get buffers of their own. */
const SHARED_BYTES_MAX = 32 * 1024
/** Who takes a full buffer in less gets larger ones: fewer turns for as many bytes. Those who are slow may be many, and hold theirs for long. */
const QUICK_MS = 50

const shared = commonBuffer(READ_BYTES_MAX)
const sockets = new WeakMap<Socket, SharedReads>()

/**
 * Connects as net.connect does. What arrives is read into one buffer that all such sockets share, which costs a fraction of node's way of a new
 * buffer and an event for each read. Without `takeBytes` the socket is a stream like any other.
 */
export function connectSharing(options: TcpNetConnectOpts): Socket {
  if (READS_ARE_PUSHED) return connect(options)
  const reads = new SharedReads()
  const socket = connect({ ...options, onread: { buffer: reads.next, callback: reads.arrived } })
  reads.socket = socket
  forgoTimeout(socket)
  sockets.set(socket, reads)
  return socket
}

/**
 * From now on `take` gets what arrives on the socket, of whatever kind it is, instead of the stream. The chunk is its own. Returns how to end that:
 * what arrives then goes into the stream again.
 */
export function takeBytes(socket: Socket, take: Take): () => void {
  return borrowBytes(socket, (chunk) => take(keep(chunk)))
}

/** As takeBytes, for who needs most of it within the call alone: the chunk is not copied first, and what is to be kept has to be (`keep`). */
export function borrowBytes(socket: Socket, take: Take): () => void {
  const reads = sockets.get(socket)
  if (!reads) return takePushed(socket, take)
  reads.take = take
  return () => {
    reads.take = undefined
  }
}

class SharedReads {
  socket: Socket | undefined
  take: Take | undefined
  #own: Buffer | undefined
  #lastLargeMs = Number.NEGATIVE_INFINITY

  /** The buffer of the next read. */
  readonly next = (): Buffer => this.#own ?? shared

  /** False: read no more until the stream asks for it. */
  readonly arrived = (bytes: number, buffer: Buffer): boolean => {
    const chunk = this.#detach(buffer, bytes)
    if (!this.take) return this.socket!.push(keep(chunk))
    this.take(chunk)
    return true
  }

  #detach(buffer: Buffer, bytes: number): Buffer {
    const chunk = buffer === this.#own ? this.#detachOwn(buffer, bytes) : buffer.subarray(0, bytes)
    this.#want(this.#bytesWanted(bytes))
    return chunk
  }

  #detachOwn(own: Buffer, bytes: number): Buffer {
    if (bytes <= own.length / 2) return copyOf(own, 0, bytes)
    this.#own = undefined
    return lend(own, bytes)
  }

  #want(bytes: number): void {
    const own = this.#own
    if ((own?.length ?? 0) === bytes) return
    if (own) giveBack(own)
    this.#own = bytes > 0 ? takeBuffer(bytes) : undefined
  }

  /** How large a buffer of its own the socket gets after a read of so many bytes; 0: the shared one will do. */
  #bytesWanted(bytes: number): number {
    if (bytes <= SHARED_BYTES_MAX) return 0
    const before = this.#lastLargeMs
    this.#lastLargeMs = performance.now()
    return bytes >= READ_BYTES_MAX && this.#lastLargeMs - before < QUICK_MS ? QUICK_READ_BYTES_MAX : READ_BYTES_MAX
  }
}
