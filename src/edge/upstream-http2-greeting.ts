import type { Socket } from 'node:net'
import { PREFACE } from './http2/frame-reader.ts'
import type { FrameWriter } from './http2/frame-writer.ts'
import { FLAG, FRAME, SETTING } from './http2/protocol.ts'
import { CONNECTION_WINDOW_BYTES, encodeSettings, STREAM_WINDOW_BYTES } from './http2/settings.ts'
import { INITIAL_WINDOW_BYTES } from './http2/windows.ts'

/** What the head of an answer may count (RFC 9113 §6.5.2). */
export const HEAD_BYTES_MAX = 64 * 1024
const OUR_SETTINGS = encodeSettings([
  [SETTING.enablePush, 0],
  [SETTING.initialWindow, STREAM_WINDOW_BYTES],
  [SETTING.maxHeaderList, HEAD_BYTES_MAX],
])

/** What an upstream hears first (RFC 9113 §3.4): the preface, our settings, and by how much more the whole connection may bring. */
export function greet(socket: Socket, writer: FrameWriter): void {
  socket.write(PREFACE)
  writer.frame(FRAME.settings, FLAG.none, 0, OUR_SETTINGS)
  writer.windowUpdate(0, CONNECTION_WINDOW_BYTES - INITIAL_WINDOW_BYTES)
}
