import type { Socket } from 'node:net'
import { PREFACE } from './http2/frame-reader.ts'
import type { FrameWriter } from './http2/frame-writer.ts'
import { FLAG, FRAME, SETTING } from './http2/protocol.ts'
import { CONNECTION_WINDOW_BYTES, encodeSettings, STREAM_WINDOW_BYTES } from './http2/settings.ts'
import { INITIAL_WINDOW_BYTES } from './http2/windows.ts'

const HEAD_BYTES_MAX = 64 * 1024
/**
 * How an upstream's frames are read. Where an application repeats in its heads what a visitor said, each visitor may make them too large: up to eight times what is
 * of use they are read to their end.
 */
export const UPSTREAM_RULES = { hasPreface: false, headBytesMax: HEAD_BYTES_MAX, blockBytesMax: 8 * HEAD_BYTES_MAX }
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
