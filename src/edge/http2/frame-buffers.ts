import { QUICK_READ_BYTES_MAX } from '../let-go.ts'
import { SpareBuffers } from '../spare-buffers.ts'
import { FRAME_BYTES_MAX, FRAME_HEAD_BYTES } from './protocol.ts'

export const FRAME_BUFFER_BYTES = 32 * 1024
/** What may stand before a body in its buffer, such as its answer's head. */
export const BEFORE_BODY_BYTES_MAX = 4 * 1024
/** The frames of what one read of a body takes at most. */
export const BODY_FRAMES_BYTES_MAX = Math.ceil(QUICK_READ_BYTES_MAX / FRAME_BYTES_MAX) * (FRAME_HEAD_BYTES + FRAME_BYTES_MAX)
const BODY_BUFFER_BYTES = BEFORE_BODY_BYTES_MAX + BODY_FRAMES_BYTES_MAX
const SPARE_MAX = 256
const SPARE_BODY_BUFFERS_MAX = 64

export type FrameBuffers = ReturnType<typeof createFrameBuffers>

/** Memory for frames on their way out, used again and again: as much as is being written now, and a few to spare. */
export function createFrameBuffers() {
  const small = new SpareBuffers(FRAME_BUFFER_BYTES, SPARE_MAX)
  const large = new SpareBuffers(BODY_BUFFER_BYTES, SPARE_BODY_BUFFERS_MAX)
  return {
    take: (): Buffer => small.take(),
    takeForBody: (): Buffer => large.take(),
    give: (buffer: Buffer): void => (buffer.length === FRAME_BUFFER_BYTES ? small : large).give(buffer),
  }
}
