import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keep } from './let-go.ts'
import { digest, expectStreamBehindHead, resumeToEnd, sendBlocks, until } from './reads.fixture.ts'
import { borrowBytes, connectSharing, takeBytes } from './upstream-reads.ts'

let server: Server
let port: number
const accepted: Socket[] = []

beforeAll(async () => {
  server = createServer((socket) => void accepted.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as { port: number }).port
})
afterAll(() => {
  for (const socket of accepted) socket.destroy()
  server.close()
})

async function open(connectTo: typeof connectSharing): Promise<{ near: Socket; far: Socket }> {
  const near = connectTo({ host: '127.0.0.1', port })
  const [far] = (await once(server, 'connection')) as [Socket]
  return { near, far }
}

describe.each([
  ['into one buffer', connectSharing],
  ['as they are pushed', connect],
])('read %s', (_how, connectTo) => {
  test.each([
    ['is taken', takeBytes, (chunk: Buffer) => chunk],
    ['is borrowed and kept', borrowBytes, keep],
  ])('what twenty sockets read at once and %s stays what each was sent', async (_what, read, kept) => {
    const sizes = [1, 700, 16_384, 16_385, 65_536, 65_537, 300_000]
    const pairs = []
    for (let i = 0; i < 20; i += 1) pairs.push(await open(connectTo))
    const runs = pairs.map(async ({ near, far }) => {
      const taken: Buffer[] = []
      read(near, (chunk) => taken.push(kept(chunk)))
      near.resume()
      const sent = await sendBlocks(far, sizes)
      await once(near, 'end')
      expect(digest(Buffer.concat(taken))).toBe(sent)
    })
    await Promise.all(runs)
  })

  test('a paused socket reads no more than a buffer, and all the rest once it goes on', async () => {
    const { near, far } = await open(connectTo)
    let bytes = 0
    takeBytes(near, (chunk) => {
      bytes += chunk.length
      near.pause()
    })
    near.resume()
    const block = Buffer.alloc(8_000_000, 'x')
    far.end(block)
    await until(() => bytes > 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(bytes).toBeLessThanOrEqual(65_536)
    await resumeToEnd(near)
    expect(bytes).toBe(block.length)
  })

  test('a socket whose bytes were taken is a stream like any other afterwards', async () => {
    await expectStreamBehindHead(await open(connectTo), takeBytes, 5_000_000)
  })
})
