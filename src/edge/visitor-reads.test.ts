import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect, createServer, type Server, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { READS_INTO_OURS } from './own-reads.ts'
import { takePushed } from './pushed-reads.ts'
import { digest, expectStreamBehindHead, resumeToEnd, sendBlocks, until } from './reads.fixture.ts'
import { takeVisitorBytes } from './visitor-reads.ts'

let server: Server
let port: number
const sockets: TLSSocket[] = []

beforeAll(async () => {
  const { chainPem, keyPem } = await (await createTestCa()).issue(['shop.customer.com'])
  server = createServer({ cert: chainPem, key: keyPem }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

async function open(): Promise<{ near: TLSSocket; far: TLSSocket }> {
  const accepted = once(server, 'secureConnection')
  const far = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  const [near] = (await accepted) as [TLSSocket]
  for (const socket of [near, far]) sockets.push(socket.on('error', () => {}))
  return { near, far }
}

test.skipIf(process.versions.bun !== undefined)('this Node lets visitors be read into one buffer', () => {
  expect(READS_INTO_OURS).toBe(true)
})

describe.each([
  ['into one buffer', takeVisitorBytes],
  ['as they are pushed', takePushed],
])('read %s', (_how, takeThem) => {
  test('what twenty visitors send at once is what each of them sent, also with pauses', async () => {
    const sizes = [1, 300, 16_383, 16_384, 16_385, 40_000, 200_000]
    const pairs = []
    for (let i = 0; i < 20; i += 1) pairs.push(await open())
    const runs = pairs.map(async ({ near, far }, i) => {
      const taken: Buffer[] = []
      takeThem(near, (chunk) => {
        taken.push(chunk)
        if (i % 2 === 0 || randomInt(4) > 0) return
        near.pause()
        const goOn = [queueMicrotask, process.nextTick, setImmediate][randomInt(3)] as (callback: () => void) => void
        goOn(() => near.resume())
      })
      near.resume()
      const sent = await sendBlocks(far, sizes)
      await once(near, 'end')
      expect(digest(Buffer.concat(taken))).toBe(sent)
    })
    await Promise.all(runs)
  })

  test('while it is paused nothing is taken', async () => {
    const { near, far } = await open()
    let bytes = 0
    takeThem(near, (chunk) => {
      bytes += chunk.length
      near.pause()
    })
    near.resume()
    const block = Buffer.alloc(2_000_000, 'x')
    far.end(block)
    await until(() => bytes > 0)
    for (let i = 0; i < 20; i += 1) await nextTurn()
    expect(bytes).toBeLessThanOrEqual(16_384)
    await resumeToEnd(near)
    expect(bytes).toBe(block.length)
  })

  test('what came before is taken first', async () => {
    const { near, far } = await open()
    far.write('one ')
    await once(near, 'readable')
    const taken: Buffer[] = []
    takeThem(near, (chunk) => taken.push(chunk))
    far.write('two')
    near.resume()
    await until(() => Buffer.concat(taken).length === 7)
    expect(taken.join('')).toBe('one two')
  })

  test('once no more is taken, the connection is a stream like any other', async () => {
    await expectStreamBehindHead(await open(), takeThem, 3_000_000)
  })
})
