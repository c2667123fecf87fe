export const FRAME_BUFFER_BYTES = 32 * 1024
const SPARE_MAX = 256

export type FrameBuffers = ReturnType<typeof createFrameBuffers>

/** Memory for frames on their way out, used again and again: as much as is being written now, and a few to spare. */
export function createFrameBuffers() {
  const spare: Buffer[] = []
  return {
    take: (): Buffer => spare.pop() ?? Buffer.allocUnsafeSlow(FRAME_BUFFER_BYTES),
    give(buffer: Buffer) {
      if (spare.length < SPARE_MAX) spare.push(buffer)
    },
  }
}
