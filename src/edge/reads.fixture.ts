import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Take } from './pushed-reads.ts'

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

/** Looks once a turn of the loop. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn()
}

/** Takes the head of what comes, and no more: the rest, of so many bytes, comes as from any other stream. `takeThem` returns how to end it. */
export async function expectStreamBehindHead<Near extends Socket>(
  { near, far }: { near: Near; far: Socket },
  takeThem: (socket: Near, take: Take) => () => void,
  bytes: number,
): Promise<void> {
  const taken: Buffer[] = []
  const takeNoMore = takeThem(near, (chunk) => taken.push(chunk))
  near.resume()
  far.write('head')
  await until(() => taken.length > 0)
  takeNoMore()
  near.pause()
  const block = randomBytes(bytes)
  far.end(block)
  const rest = (await near.toArray()) as Buffer[]
  expect(taken.join('')).toBe('head')
  expect(digest(Buffer.concat(rest))).toBe(digest(block))
}

/** Resumes the socket whenever somebody has paused it, until all has arrived. */
export async function resumeToEnd(near: Socket): Promise<void> {
  const goOn = setInterval(() => near.resume(), 0)
  await once(near, 'end')
  clearInterval(goOn)
}
