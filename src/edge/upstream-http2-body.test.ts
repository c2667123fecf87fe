import { expect, test } from 'vitest'
import { ArrivingBody } from './arriving-body.ts'
import { commonBuffer } from './let-go.ts'
import { BodySending } from './upstream-http2-body.ts'

test('of a body in single bytes not an object each is kept, in case that it is sent again', () => {
  const body = new ArrivingBody(undefined, () => {})
  const sending = new BodySending(body, { sendBody: (chunk) => chunk.length, endBody() {}, waitForRoom() {} })
  const push = (count: number) => {
    for (let i = 0; i < count; i += 1) body.push(Buffer.from('x'))
  }
  push(400)
  expect(sending.rewind()).toBe(true)
  sending.goOn()
  push(200)
  expect(sending.rewind()).toBe(false)
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
  const sending = new BodySending(body, { sendBody, endBody() {}, waitForRoom() {} })
  const common = commonBuffer(5_000).fill('w')
  body.push(common)
  common.fill('x')
  room = 10_000
  sending.goOn()
  expect(sending.rewind()).toBe(true)
  sending.goOn()
  expect(sent.join('')).toBe('w'.repeat(10_000))
})
