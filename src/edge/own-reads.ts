import { Socket } from 'node:net'
import { commonBuffer, copyOf } from './let-go.ts'

/** Told how many bytes have come; false has the socket read no more until it is asked to. `this` is the socket. */
type Arrived = (this: Socket, bytes: number) => boolean
type Fields = Record<symbol, unknown>
type Handle = { useUserBuffer?(buffer: Buffer): void }

/** What every connection is read into, to be copied or used up before the next one is. One record of TLS holds 16 KB at most (RFC 8446 §5.1). */
export const shared = commonBuffer(16 * 1024)

const FIELDS = findFields()

/** Whether this runtime can read connections that it accepted into a buffer of ours. */
export const READS_INTO_OURS = FIELDS !== undefined

/**
 * Has what arrives on a connection read into `shared`, past its stream, if that is possible here: it spares an ArrayBuffer and an event for each
 * read. Node does so for sockets that connect (`onread`), and has no option for those that were accepted.
 */
export function readIntoShared(socket: Socket, arrived: Arrived): boolean {
  const { _handle: handle } = socket as unknown as { _handle: Handle | null }
  const readInto = handle?.useUserBuffer
  if (!FIELDS || !readInto) return false
  const fields = socket as unknown as Fields
  fields[FIELDS.buffer] = shared
  fields[FIELDS.callback] = arrived
  readInto.call(handle, shared)
  return true
}

/** What arrives goes into the socket's stream from now on, and the socket holds nobody who took it before. */
export function readIntoStream(socket: Socket): void {
  if (FIELDS) (socket as unknown as Fields)[FIELDS.callback] = pushShared
}

function pushShared(this: Socket, bytes: number): boolean {
  return this.push(copyOf(shared, 0, bytes))
}

/** Where node's sockets keep what they were told of `onread`: found by what stands there, since the names are node's own. */
function findFields(): { buffer: symbol; callback: symbol } | undefined {
  const callback = () => true
  const socket = new Socket({ onread: { buffer: shared, callback } } as object) as unknown as Fields
  const fieldOf = (value: unknown) => Object.getOwnPropertySymbols(socket).find((symbol) => socket[symbol] === value)
  const found = { buffer: fieldOf(shared), callback: fieldOf(callback) }
  return found.buffer && found.callback ? { buffer: found.buffer, callback: found.callback } : undefined
}
