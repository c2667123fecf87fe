import { REQUEST_HEAD_BYTES_MAX, STREAMS_PER_CONNECTION_MAX } from '../request-limits.ts'
import { ConnectionError, ERROR_CODE, FRAME_BYTES_MAX, SETTING, violation } from './protocol.ts'
import { tooMuch, WINDOW_BYTES_MAX } from './windows.ts'

/** A stream's window at first, which is what lies here of a body that nobody takes. It grows to `STREAM_WINDOW_BYTES_MAX` for who takes all that comes. */
export const STREAM_WINDOW_BYTES = 64 * 1024
export const STREAM_WINDOW_BYTES_MAX = 256 * 1024
export const CONNECTION_WINDOW_BYTES = 2 * 1024 * 1024
const SETTING_BYTES = 6
const SETTINGS_MAX = 32
const FRAME_BYTES_LIMIT = 2 ** 24 - 1

/** What we tell every visitor. */
export const OUR_SETTINGS = encodeSettings([
  [SETTING.maxStreams, STREAMS_PER_CONNECTION_MAX],
  [SETTING.initialWindow, STREAM_WINDOW_BYTES],
  [SETTING.maxHeaderList, REQUEST_HEAD_BYTES_MAX],
])

/** What of a peer's settings concerns us. */
export type PeerSettings = { initialWindow: number | undefined; maxStreams: number | undefined; setsTableSize: boolean }

/**
 * Reads the payload of SETTINGS (RFC 9113 §6.5); we use neither the dynamic table, nor push, nor frames larger than any peer must take. `isClient`: the
 * peer is one, which may let us push. Throws ConnectionError.
 */
export function readSettings(bytes: Buffer, start: number, end: number, isClient: boolean): PeerSettings {
  const count = (end - start) / SETTING_BYTES
  if (!Number.isInteger(count)) throw new ConnectionError(ERROR_CODE.frameSize, 'SETTINGS of a wrong size')
  if (count > SETTINGS_MAX) throw new ConnectionError(ERROR_CODE.enhanceYourCalm, 'too many settings')
  const read: PeerSettings = { initialWindow: undefined, maxStreams: undefined, setsTableSize: false }
  for (let at = start; at < end; at += SETTING_BYTES) {
    const id = bytes.readUInt16BE(at)
    const value = bytes.readUInt32BE(at + 2)
    if (id === SETTING.initialWindow && value > WINDOW_BYTES_MAX) throw tooMuch()
    if (id === SETTING.enablePush && value > (isClient ? 1 : 0)) throw violation('ENABLE_PUSH')
    if (id === SETTING.maxFrame && (value < FRAME_BYTES_MAX || value > FRAME_BYTES_LIMIT)) throw violation('MAX_FRAME_SIZE')
    if (id === SETTING.initialWindow) read.initialWindow = value
    if (id === SETTING.maxStreams) read.maxStreams = value
    if (id === SETTING.headerTableSize) read.setsTableSize = true
  }
  return read
}

/** The payload of SETTINGS. */
export function encodeSettings(settings: [id: number, value: number][]): Buffer {
  const bytes = Buffer.alloc(settings.length * SETTING_BYTES)
  settings.forEach(([id, value], i) => {
    bytes.writeUInt16BE(id, i * SETTING_BYTES)
    bytes.writeUInt32BE(value, i * SETTING_BYTES + 2)
  })
  return bytes
}
