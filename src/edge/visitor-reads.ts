import { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { copyOf } from './let-go.ts'
import { READS_ARE_PUSHED, type Take, takePushed } from './pushed-reads.ts'

/** One record of TLS holds 16 KB at most (RFC 8446 §5.1), and each is read on its own. */
const shared = Buffer.allocUnsafeSlow(16 * 1024)

type Fields = Record<symbol, unknown>
type Handle = { useUserBuffer?(buffer: Buffer): void }

const FIELDS = findFields()

/** Whether this runtime can read visitors' connections into one buffer. */
export const SHARES_VISITOR_READS = FIELDS !== undefined

/**
 * Hands what arrives on a visitor's connection to `take`, nothing while the socket is paused; each chunk is its own. Returns how to end that:
 * from then on it goes into the stream. All connections are read into one buffer, which spares an ArrayBuffer and an event for each read, a tenth
 * of what a small request costs. Node does so for sockets that connect (`onread`), and has no option for those that were accepted.
 */
export function takeVisitorBytes(socket: TLSSocket, take: Take): () => void {
  if (READS_ARE_PUSHED) return takePushed(socket, take)
  let isTaking = true
  const arrived = (bytes: number): boolean => {
    const chunk = copyOf(shared, 0, bytes)
    if (!isTaking || socket.isPaused() || socket.readableLength > 0) return socket.push(chunk)
    take(chunk)
    return true
  }
  const { _handle: handle } = socket as unknown as { _handle: Handle | null }
  const readInto = handle?.useUserBuffer
  if (FIELDS && readInto) {
    const { buffer, callback } = FIELDS
    Object.assign(socket, { [buffer]: shared, [callback]: arrived })
    socket.once('close', () => Object.assign(socket, { [callback]: null })) // a closed socket may be there for long (lightenOnceClosed)
    readInto.call(handle, shared)
  }
  socket.on('data', take) // what came before, or while it was paused
  return () => {
    isTaking = false
    socket.off('data', take)
  }
}

/** Where node's sockets keep what they were told of `onread`: found by what stands there, since the names are node's own. */
function findFields(): { buffer: symbol; callback: symbol } | undefined {
  const callback = () => true
  const socket = new Socket({ onread: { buffer: shared, callback } } as object) as unknown as Fields
  const fieldOf = (value: unknown) => Object.getOwnPropertySymbols(socket).find((symbol) => socket[symbol] === value)
  const found = { buffer: fieldOf(shared), callback: fieldOf(callback) }
  return found.buffer && found.callback ? { buffer: found.buffer, callback: found.callback } : undefined
}
