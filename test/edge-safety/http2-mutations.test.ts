import { once } from 'node:events'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Random } from '../fuzz/random.ts'
import { startTestEdge, type TestEdge } from '../support/edge.ts'
import { FrameCollector, frame, literals, PREFACE, requestBlock, word } from '../support/http2-frames.ts'
import { openHttp2, openTls, requestHttp2 } from '../support/raw-visitor.ts'
import { type RawUpstream, startRawUpstream } from '../support/upstream.ts'

const HOST = 'shop.customer.com'
const ATTACKER = 'attacker.customer.com'
const SEED = 20261121
const CONVERSATIONS = 300
const HEADS = 60
let edge: TestEdge
let application: RawUpstream
/** The fields of the next answers to HOST, as lines. */
let lines = ''

beforeAll(async () => {
  // Each answer names its host and path; a body may be read or not, the answer does not wait for it.
  application = await startRawUpstream((socket, _number, text) => {
    const host = /^Host: (.*?)\r$/im.exec(text)?.[1]
    const body = `${host} ${text.split(' ', 2)[1]}`
    socket.write(`HTTP/1.1 200 OK\r\n${host === HOST ? lines : ''}Content-Length: ${body.length}\r\n\r\n${body}`, 'latin1')
  })
  edge = await startTestEdge({ http2Engine: 'own' })
  await edge.route(HOST, application.url)
  await edge.route(ATTACKER, application.url)
})
afterAll(async () => {
  await edge.stop(0)
  await application.stop()
})
const target = (hostname: string) => ({ port: edge.httpsPort, hostname, ca: edge.ca.certPem })

const name = fc.stringMatching(/^x-[a-z0-9!#$%&'*+.^`|~-]{1,40}$/)
const value = fc.stringMatching(/^([!-~\u0080-\u00ff]([\t -~\u0080-\u00ff]{0,200}[!-~])?)?$/)

test('whatever fields an application answers with, nghttp2 reads them out of our header blocks, head after head', async () => {
  const session = await openHttp2(target(HOST))
  for (const pairs of fc.sample(fc.uniqueArray(fc.tuple(name, value), { maxLength: 30, selector: ([key]) => key }), {
    seed: SEED,
    numRuns: HEADS,
  })) {
    lines = pairs.map(([key, text]) => `${key}: ${text}\r\n`).join('')
    const { headers, body } = await requestHttp2(session, { ':path': '/fields', ':authority': HOST })
    expect(body).toBe(`${HOST} /fields`)
    const heard = Object.entries(headers).filter(([key]) => key.startsWith('x-'))
    expect(Object.fromEntries(heard.map(([key, text]) => [key, String(text)]))).toEqual(Object.fromEntries(pairs))
  }
  session.close()
  lines = ''
})

const FRAMES = [
  frame(4, 0, 0, [0, 4, 0, 1, 0, 0]),
  frame(1, 5, 1, requestBlock(ATTACKER, { path: '/1' })),
  frame(1, 4, 3, requestBlock(ATTACKER, { method: 'POST', path: '/3', more: ['content-length', '6'] })),
  frame(0, 8, 3, [2, 97, 98, 99, 0, 0]),
  frame(6, 0, 0, Buffer.from('12345678')),
  frame(0, 1, 3, Buffer.from('def')),
  frame(8, 0, 0, word(1_000)),
  frame(1, 0, 5, requestBlock(ATTACKER, { path: '/5' }).subarray(0, 12)),
  frame(9, 4, 5, requestBlock(ATTACKER, { path: '/5' }).subarray(12)),
  frame(0, 1, 5),
  frame(3, 0, 5, word(8)),
  frame(1, 4 | 32, 7, [...word(3), 16, ...requestBlock(ATTACKER, { method: 'PUT', path: '/7' })]),
  frame(1, 5, 7, literals('x-sum', 'abc')),
]

/** Frames left out, said twice, in another order, and with bytes changed, lengths and stream numbers too. */
function mutated(random: Random): Buffer {
  const frames = FRAMES.map((one) => Buffer.from(one))
  for (let left = 1 + random.below(4); left > 0; left -= 1) {
    const at = random.below(frames.length)
    const kind = random.below(5)
    const one = frames[at]
    if (!one) continue
    if (kind === 0) frames.splice(at, 1)
    else if (kind === 1) frames.splice(random.below(frames.length), 0, Buffer.from(one))
    else if (kind === 2) frames.splice(random.below(frames.length), 0, ...frames.splice(at, 1))
    else one[kind === 3 ? random.below(9) : random.below(one.length)] = random.below(256)
  }
  return Buffer.concat(frames)
}

test('whatever frames come, they end their own connection at most, and every answer stays with its own stream', async () => {
  const victim = await openHttp2(target(HOST))
  const endings = new Map<string, number>()
  for (let i = 0; i < CONVERSATIONS; i += 1) {
    const socket = await openTls({ ...target(ATTACKER), more: { ALPNProtocols: ['h2'] } })
    const closed = once(socket, 'close')
    const collector = new FrameCollector()
    socket.on('data', (chunk: Buffer) => collector.add(chunk))
    socket.write(PREFACE)
    socket.write(mutated(Random.of(SEED, i)))
    const { body } = await requestHttp2(victim, { ':path': `/${i}`, ':authority': HOST })
    expect(body).toBe(`${HOST} /${i}`)
    socket.end()
    await closed
    for (const { payload, streamId } of collector.frames.filter(({ type, payload: bytes }) => type === 0 && bytes.length > 0)) {
      const text = payload.toString('latin1')
      if (text.startsWith(ATTACKER)) expect(text).toMatch(/^attacker\.customer\.com \/[!-~]*$/)
      expect(text, `conversation ${i}, stream ${streamId}`).not.toContain(HOST)
    }
    const ending = collector.frames.some(({ type }) => type === 7)
      ? 'goaway'
      : collector.frames.some(({ type }) => type === 3)
        ? 'reset'
        : 'served'
    endings.set(ending, (endings.get(ending) ?? 0) + 1)
  }
  victim.close()
  expect([...endings.keys()].sort()).toEqual(['goaway', 'reset', 'served'])
  await expect.poll(() => edge.report()).toMatchObject({ http2Connections: 0, exchanges: 0 })
})
