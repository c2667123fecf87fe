import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect, type SecureContext, type TLSSocket } from 'node:tls'
import { ServerFlight } from './server-flight.ts'
import { objectionTo } from './shown-certificates.ts'

const IS_NODE = process.versions.bun === undefined
/** Who asks for a status alone reads no more, and what is no answer, as new keys, or wishes for a new handshake, costs us. */
export const STATUS_BYTES_MAX = 256 * 1024

type LookOptions = ConnectionOptions & {
  socket: Socket
  secureContext: SecureContext
  /** Of all that the server says. */
  bytesMax?: number
  /** Who gets what arrives on the socket, within the call alone; without it the socket is read as a stream, which costs three times as much. */
  borrow?: (take: (bytes: Buffer) => void) => void
}

/**
 * TLS with a server that anybody may have set up: as node's `connect`, but that the server's certificates are looked at before OpenSSL has them, and
 * that it may not say more than `bytesMax`, which is enough for a status. Bun's TLS cannot be looked into.
 */
export function lookThroughTls({ socket, bytesMax = STATUS_BYTES_MAX, borrow, ...options }: LookOptions): TLSSocket {
  if (!IS_NODE) return connect({ ...options, socket })
  const take = (bytes: Buffer) => flight.take(bytes)
  if (borrow) borrow(take)
  else socket.on('data', take)
  const wire = new Wire(socket)
  const tls = connect({ ...options, socket: wire as EventEmitter as Duplex })
  const flight = new ServerFlight({
    pass: (bytes) => void wire.emit('data', bytes),
    objectionTo,
    bytesMax,
    refuse: (reason) => void tls.destroy(new Error(`its TLS costs too much: ${reason}`)),
  })
  tls.on('keylog', (line) => flight.hear(line))
  return tls
}

/** What node's TLS uses of a stream, and no more: a connection that tells somebody else what comes. */
class Wire extends EventEmitter {
  readonly #socket: Socket
  readonly readable = true
  readonly writable = true

  constructor(socket: Socket) {
    super()
    this.#socket = socket.pause()
    socket.allowHalfOpen = true // TLS ends it, once what it holds has been read: closed before, it would take that along
    for (const event of ['end', 'error', 'close']) socket.on(event, (error?: Error) => this.emit(event, error))
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  cork(): void {
    this.#socket.cork()
  }

  uncork(): void {
    this.#socket.uncork()
  }

  write(bytes: Buffer, done: (error?: Error | null) => void): boolean {
    return this.#socket.write(bytes, done)
  }

  end(done: () => void): void {
    this.#socket.end(done)
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
