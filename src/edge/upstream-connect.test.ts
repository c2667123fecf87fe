import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { readUpstream } from './upstream.ts'
import { createConnect } from './upstream-connect.ts'

/** Who connects to it, one after the other. */
async function startUpstream() {
  const from: string[] = []
  const server = createServer((socket) => void from.push(socket.remoteAddress!))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { from, upstream: readUpstream(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'http1', 'one') }
}

const connecting = (sourceIps: string[], addresses = ['127.0.0.1']) =>
  createConnect({ guard: { addressesOf: async () => addresses }, connectTimeoutMs: 5_000, sourceIps, ca: [] })

test.each([
  [['127.0.0.2', '127.0.0.3'], ['127.0.0.1']],
  [
    ['127.0.0.2', '127.0.0.3', '127.0.0.4'],
    ['127.0.0.1', '127.0.0.9'],
  ],
  [
    ['127.0.0.2', '127.0.0.3'],
    ['127.0.0.9', '127.0.0.1'], // nobody listens at the first
  ],
])('the sources %j are used in turn, for an upstream with the addresses %j', async (sources, addresses) => {
  const { from, upstream } = await startUpstream()
  const connect = connecting(sources, addresses)
  for (let n = 1; n <= 2 * sources.length; n += 1) {
    ;(await connect(upstream)).destroy()
    await expect.poll(() => from.length).toBe(n)
  }
  expect(from.slice(sources.length)).toEqual(from.slice(0, sources.length))
  expect(from.slice(0, sources.length).sort()).toEqual(sources)
})

test('an address that no source fits is not tried', async () => {
  const { upstream } = await startUpstream()
  await expect(connecting(['::1'])(upstream)).rejects.toThrow('no source address fits')
})
