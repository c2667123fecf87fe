import { once } from 'node:events'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startTestEdge } from '../../test/support/edge.ts'
import { bodyOf, frame, HEADERS, RawHttp2, RST_STREAM, requestBlock, WINDOW_UPDATE, word } from '../../test/support/http2-frames.ts'
import { startRawUpstream } from '../../test/support/upstream.ts'
import { pause } from '../lib/back-off.ts'

const HOST = 'shop.customer.com'
const IDLE_MS = 2_000 // a machine that stands still for a moment is no visitor that does
const ANSWER = 'x'.repeat(600_000) // more than all that lies between an application and a visitor
const TAKEN_BYTES = 1_000

async function startHttp1(): Promise<string> {
  const upstream = await startRawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${ANSWER.length}\r\n\r\n${ANSWER}`))
  onTestFinished(() => upstream.stop())
  return upstream.url
}

async function startHttp2(): Promise<string> {
  const upstream = createServer().on('stream', (stream) => {
    stream.on('error', () => {}).respond({ ':status': 200 })
    stream.end(ANSWER)
  })
  await once(upstream.listen(0, 'localhost'), 'listening')
  onTestFinished(() => void upstream.close())
  return `http://localhost:${(upstream.address() as AddressInfo).port}`
}

test.each([
  ['http1', startHttp1],
  ['h2c', startHttp2],
] as const)(
  'who takes a little of an answer all the time is served on, however seldom its upstream of %s can send more',
  async (upstreamProtocol, start) => {
    // Only our own windows say what has been let through.
    const edge = await startTestEdge({ http2Engine: 'own', timeouts: { bodyIdleMs: IDLE_MS } })
    onTestFinished(() => edge.stop(0))
    await edge.route(HOST, await start(), { upstreamProtocol })
    const visitor = await RawHttp2.open({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, [
      0,
      4,
      0,
      0,
      ...word(TAKEN_BYTES).subarray(2),
    ])
    visitor.send(frame(HEADERS, 5, 1, requestBlock(HOST)))
    const resets = () => visitor.frames.filter(({ type }) => type === RST_STREAM)
    let granted = TAKEN_BYTES
    for (; granted < 20 * TAKEN_BYTES; granted += TAKEN_BYTES) {
      await expect.poll(() => bodyOf(visitor.frames, 1).length).toBe(granted)
      await pause(IDLE_MS / 8)
      visitor.send(frame(WINDOW_UPDATE, 0, 1, word(TAKEN_BYTES)))
      expect(resets()).toEqual([])
    }
    await expect.poll(() => resets().length).toBe(1) // and not for ever, who takes no more
    visitor.socket.destroy()
  },
)
