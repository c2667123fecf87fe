import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'

const BLOCKS = 40

export function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Sends random blocks of these sizes as fast as they are taken, and ends; resolves with the digest of all. */
export async function sendBlocks(far: Socket, sizes: readonly number[]): Promise<string> {
  const sent: Buffer[] = []
  for (let i = 0; i < BLOCKS; i += 1) {
    const bytes = randomBytes(sizes[randomInt(sizes.length)]!)
    sent.push(bytes)
    if (!far.write(bytes)) await once(far, 'drain')
  }
  far.end()
  return digest(Buffer.concat(sent))
}

/** Resumes the socket whenever somebody has paused it, until all has arrived. */
export async function resumeToEnd(near: Socket): Promise<void> {
  const goOn = setInterval(() => near.resume(), 0)
  await once(near, 'end')
  clearInterval(goOn)
}
