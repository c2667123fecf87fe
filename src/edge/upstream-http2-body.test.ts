import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chunkOf, PIECES, tellingBytes } from '../../test/support/telling-bytes.ts'
import { ArrivingBody } from './arriving-body.ts'
import type { Fields } from './engine.ts'
import { commonBuffer } from './let-go.ts'
import { Repeatable } from './repeatable.ts'
import { Http2BodySending, type Http2BodySink } from './upstream-http2-body.ts'

const BYTES = tellingBytes(1_000_000)

const send = (body: ArrivingBody, sink: Http2BodySink, { kept = new Repeatable(), owner = '1' } = {}) =>
  new Http2BodySending(body, sink, { kept, owner })

/** An upstream with room for so many bytes. */
class Upstream implements Http2BodySink {
  room: number
  sent: Buffer = Buffer.alloc(0)
  ends: Fields[] = []

  constructor(room = 0) {
    this.room = room
  }

  sendBody(chunk: Buffer): number {
    const bytes = Math.min(this.room, chunk.length)
    this.sent = Buffer.concat([this.sent, chunk.subarray(0, bytes)])
    this.room -= bytes
    return bytes
  }
  endBody(trailers: Fields) {
    this.ends.push(trailers)
  }
  waitForRoom() {}
}

test('of a body in single bytes not an object each is kept, in case that it is sent again', () => {
  const body = new ArrivingBody(undefined, () => {})
  const sending = send(body, { sendBody: (chunk) => chunk.length, endBody() {}, waitForRoom() {} })
  const push = (count: number) => {
    for (let i = 0; i < count; i += 1) body.push(Buffer.from('x'))
  }
  push(400)
  expect(sending.rewind()).toBe(true)
  sending.goOn()
  push(200)
  expect(sending.rewind()).toBe(false)
})

/** Uploads of one project to an upstream that takes all and says nothing, as many as can be sent again. */
function uploadAll(kept: Repeatable, owner: string, pieces: readonly Buffer[]): Http2BodySending[] {
  const sendings: Http2BodySending[] = []
  for (;;) {
    const body = new ArrivingBody(undefined, () => {})
    const sending = send(body, { sendBody: (chunk) => chunk.length, endBody() {}, waitForRoom() {} }, { kept, owner })
    for (const piece of pieces) body.push(piece)
    const isRepeatable = sending.rewind()
    if (!isRepeatable) sending.stop()
    if (!isRepeatable || sendings.length > 10_000) return sendings
    sendings.push(sending)
  }
}

test('of all bodies of a process so much is kept for another try, and of a project no more than is free for others', () => {
  const kept = new Repeatable()
  const piece = Buffer.alloc(60_000)
  const first = uploadAll(kept, '1', [piece])
  const second = uploadAll(kept, '2', [piece])
  expect(first.length * piece.length).toBeGreaterThan(30_000_000)
  expect(second.length * piece.length).toBeGreaterThan(15_000_000)
  expect((first.length + second.length) * piece.length).toBeLessThan(60_000_000)
  for (const [i, sending] of first.entries()) i % 2 === 0 ? sending.stop() : sending.commit()
  for (const sending of [...first, ...second]) sending.stop()
  expect(uploadAll(kept, '2', [piece])).toHaveLength(first.length)
})

test('of bodies in single bytes what they are kept in counts too', () => {
  const pieces = Array.from({ length: 400 }, () => Buffer.from('x'))
  expect(uploadAll(new Repeatable(), '1', pieces).length).toBeLessThan(200)
})

test('what waits for a window, and what is sent again, stays when the buffer that it came in is read into again', () => {
  const body = new ArrivingBody(undefined, () => {})
  let room = 3_000
  const sent: string[] = []
  const sendBody = (chunk: Buffer) => {
    const bytes = Math.min(room, chunk.length)
    sent.push(chunk.toString('latin1', 0, bytes))
    room -= bytes
    return bytes
  }
  const sending = send(body, { sendBody, endBody() {}, waitForRoom() {} })
  const common = commonBuffer(5_000).fill('w')
  body.push(common)
  common.fill('x')
  room = 10_000
  sending.goOn()
  expect(sending.rewind()).toBe(true)
  sending.goOn()
  expect(sent.join('')).toBe('w'.repeat(10_000))
})

test('what counts is what has been sent of a body: what only waits is sent again with it', () => {
  const body = new ArrivingBody(undefined, () => {})
  const upstream = new Upstream(65_536)
  const sending = send(body, upstream)
  body.push(chunkOf(BYTES.subarray(0, 200_000)))
  for (const room of [65_536, 65_537]) {
    expect(sending.rewind()).toBe(true)
    Object.assign(upstream, new Upstream(room))
    expect(sending.goOn()).toBe(false)
  }
  expect(sending.rewind()).toBe(false)
})

test('a body that has ended is sent again with its end, and one that ends meanwhile ends once', async () => {
  const body = new ArrivingBody(undefined, () => {})
  const upstream = new Upstream(100)
  const sending = send(body, upstream)
  const trailers = ['x-sum', '7']
  body.push(chunkOf(BYTES.subarray(0, 100)))
  sending.rewind()
  body.end(trailers)
  await setImmediate()
  expect(upstream.ends).toEqual([])
  for (let time = 1; time <= 2; time += 1) {
    Object.assign(upstream, new Upstream(100))
    sending.goOn()
    await setImmediate()
    expect({ ...upstream }).toEqual({ room: 0, sent: BYTES.subarray(0, 100), ends: [trailers] })
    expect(sending.rewind()).toBe(true)
  }
})

test('whenever it begins anew, a body comes whole, in order and once', async () => {
  const bytes = fc.constantFrom(...PIECES)
  const step = fc.record({ kind: fc.constantFrom('come', 'open', 'rewind'), bytes })
  const steps = fc.asyncProperty(fc.array(step), async (steps) => {
    const body = new ArrivingBody(undefined, () => {})
    const upstream = new Upstream()
    const sending = send(body, upstream)
    let come = 0
    for (const { kind, bytes } of steps) {
      if (kind === 'come') {
        body.push(chunkOf(BYTES.subarray(come, come + bytes)))
        come += bytes
      } else if (kind === 'rewind') {
        const isRepeatable = sending.rewind()
        expect(isRepeatable).toBe(upstream.sent.length <= 65_536)
        if (!isRepeatable) return
        Object.assign(upstream, new Upstream(bytes))
      } else {
        upstream.room += bytes
        sending.goOn()
      }
      await setImmediate()
    }
    body.end([])
    upstream.room = Number.POSITIVE_INFINITY
    sending.goOn()
    await setImmediate()
    expect(upstream.sent.equals(BYTES.subarray(0, come))).toBe(true)
    expect(upstream.ends).toEqual([[]])
  })
  await fc.assert(steps)
})
