import { once } from 'node:events'
import { Metadata, type MetadataValue, type ServiceError, type StatusObject, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestCa, type TestCa } from '../../test/support/certificates.ts'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { type EchoClient, type GrpcUpstream, type Note, startGrpcUpstream, visitGrpc } from '../../test/support/grpc.ts'
import { freePort } from '../../test/support/ports.ts'

const HOST = 'shop.customer.com'

/** node:http2 on the visitor's side is refused with Bun, where it loses parts of large messages. */
const PATHS = (
  [
    ['own', 'h2c'],
    ['own', 'h2'],
    ['node', 'h2c'],
  ] as const
).filter(([http2Engine]) => http2Engine === 'own' || process.env.TEST_EDGE_RUNTIME !== 'bun')

describe.each(PATHS)('gRPC through the edge with the %s engine, to an upstream by %s', (http2Engine, upstreamProtocol) => {
  let edge: TestEdge
  let upstream: GrpcUpstream
  let upstreamCa: TestCa
  let client: EchoClient

  const startUpstream = async (port: number) => {
    const { keyPem, chainPem } = await upstreamCa.issue(['localhost'])
    return startGrpcUpstream({ port, ...(upstreamProtocol === 'h2' && { tls: { key: keyPem, chain: chainPem } }) })
  }

  beforeAll(async () => {
    upstreamCa = await createTestCa()
    upstream = await startUpstream(await freePort()) // the same one again when it comes back
    edge = await startTestEdge({ http2Engine, upstream: { ca: [upstreamCa.certPem] } })
    const scheme = upstreamProtocol === 'h2' ? 'https' : 'http'
    await edge.route(HOST, `${scheme}://localhost:${upstream.port}`, { upstreamProtocol })
    client = visitGrpc({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  })

  afterAll(async () => {
    client.close()
    upstream.stop()
    await edge.stop(0)
  })

  test('a call is answered, with metadata before it and trailers behind it', async () => {
    const metadata = new Metadata()
    metadata.add('x-mine', 'one')
    metadata.add('x-mine', 'two')
    const { note, head, trailers } = await say({ text: 'hello' }, metadata)
    expect(note.text).toBe(`hello at ${HOST}`)
    expect(head.get('x-yours').join(', ')).toBe('one, two')
    expect(trailers.get('x-trailer')).toEqual(['behind'])
    expect(trailers.get('x-trailer-bin')).toEqual([Buffer.from([0, 1, 255])])
  })

  test('a stream of notes is collected', async () => {
    const note = await new Promise<Note>((resolve, reject) => {
      const call = client.collect((error, answer) => (error ? reject(error) : resolve(answer)))
      for (let i = 0; i < 100; i += 1) call.write({ text: String(i) })
      call.end()
    })
    expect(note.text).toBe(Array.from({ length: 100 }, (_, i) => i).join(' '))
  })

  test('one note brings a stream of them', async () => {
    const texts: string[] = []
    for await (const { text } of client.repeat({ text: 'again', times: 1_000 }) as AsyncIterable<Note>) texts.push(text)
    expect(texts.length).toBe(1_000)
    expect(texts.at(-1)).toBe('again 999')
  })

  test('both sides speak in turn on one stream', async () => {
    const call = client.chat()
    for (const text of ['one', 'two', 'three']) {
      call.write({ text })
      expect(await once(call, 'data')).toMatchObject([{ text: `you said ${text}` }])
    }
    call.end()
    call.resume()
    expect((await once(call, 'status')) as StatusObject[]).toMatchObject([{ code: status.OK }])
  })

  test('a failure arrives with its code, its sentence and its trailers', async () => {
    const error = await failureOf(say({ text: 'fail' }))
    expect(error).toMatchObject({ code: status.FAILED_PRECONDITION, details: 'no such customer' })
    expect(error.metadata.get('x-trailer') as MetadataValue[]).toEqual(['behind'])
    const call = client.chat()
    call.write({ text: 'fail' })
    expect(await failureOf(once(call, 'data'))).toMatchObject({ code: status.FAILED_PRECONDITION })
  })

  test('an unknown method is unimplemented, in an answer that is nothing but trailers', async () => {
    const call = client.makeUnaryRequest('/namesake.test.Echo/Missing', Buffer.from, Buffer.from, Buffer.alloc(0), () => {})
    const [{ code }] = (await once(call, 'status')) as [StatusObject]
    expect(code).toBe(status.UNIMPLEMENTED)
  })

  test('a call that is cancelled is cancelled at the upstream', async () => {
    const before = upstream.cancelled()
    const call = client.chat()
    call.on('error', () => {})
    call.write({ text: 'one' })
    await once(call, 'data')
    call.cancel()
    await expect.poll(() => upstream.cancelled()).toBe(before + 1)
  })

  test('a call that is too late ends at its deadline, here and at the upstream', async () => {
    const before = upstream.cancelled()
    expect(await failureOf(say({ text: 'hang' }, new Metadata(), Date.now() + 2_000))).toMatchObject({ code: status.DEADLINE_EXCEEDED })
    await expect.poll(() => upstream.cancelled()).toBe(before + 1)
  })

  test('a call that its application has not begun to answer ends when its hostname is removed, at the application too', async () => {
    const exchanges = async () => (await edge.report()).exchanges
    await expect.poll(exchanges).toBe(0)
    const [hostname, before] = ['leaving.customer.com', upstream.cancelled()]
    await edge.route(hostname, `${upstreamProtocol === 'h2' ? 'https' : 'http'}://localhost:${upstream.port}`, { upstreamProtocol })
    const leaving = visitGrpc({ port: edge.httpsPort, hostname, ca: edge.ca.certPem })
    const ended = new Promise<ServiceError | null>((resolve) => {
      const call = leaving.collect(resolve)
      const timer = setInterval(() => call.write({ text: 'more' }), 50)
      call.once('status', () => clearInterval(timer))
    })
    await expect.poll(exchanges).toBe(1)
    edge.hosts.delete(hostname)
    expect(await ended).toMatchObject({ code: expect.any(Number) })
    await expect.poll(() => upstream.cancelled()).toBe(before + 1)
    await expect.poll(() => edge.lines.find((line) => line.hostname === hostname)).toMatchObject({ status: 0, error: 'hostname-gone' })
    leaving.close()
  }, 20_000)

  test('a message of 4 MB crosses both ways', async () => {
    const payload = Buffer.alloc(4 * 1024 * 1024, 'namesake')
    const { note } = await say({ text: 'large', payload })
    expect(note.payload.equals(payload)).toBe(true)
  })

  test('200 streams at once keep apart', async () => {
    const calls = Array.from({ length: 200 }, () => client.chat())
    await Promise.all(
      calls.map(async (call, i) => {
        for (const word of ['a', 'b', 'c']) {
          call.write({ text: `${word}${i}` })
          expect(await once(call, 'data')).toMatchObject([{ text: `you said ${word}${i}` }])
        }
      }),
    )
    expect((await edge.report()).upstream.connections).toBeLessThanOrEqual(3)
    for (const call of calls) call.resume().end()
    await Promise.all(calls.map((call) => once(call, 'status')))
  })

  test('an upstream that shuts down gently answers what it has, and the next call finds its successor', async () => {
    const call = client.chat()
    call.write({ text: 'one' })
    await once(call, 'data')
    const { port } = upstream
    const drained = upstream.drain()
    call.write({ text: 'two' })
    expect(await once(call, 'data')).toMatchObject([{ text: 'you said two' }])
    call.resume().end()
    expect((await once(call, 'status')) as StatusObject[]).toMatchObject([{ code: status.OK }])
    await drained
    upstream = await startUpstream(port)
    expect((await say({ text: 'new' })).note.text).toBe(`new at ${HOST}`)
  })

  test('an upstream that is killed fails its calls, and is back with the next one', async () => {
    const { port } = upstream
    const call = client.chat()
    call.write({ text: 'one' })
    await once(call, 'data')
    const failed = failureOf(once(call, 'data'))
    upstream.stop()
    expect((await failed).code).toBe(status.UNAVAILABLE)
    expect(await failureOf(say({ text: 'lost' }))).toMatchObject({ code: status.UNAVAILABLE })
    upstream = await startUpstream(port)
    expect((await say({ text: 'new' })).note.text).toBe(`new at ${HOST}`)
  })

  function say(
    note: Partial<Note>,
    metadata = new Metadata(),
    deadline?: number,
  ): Promise<{ note: Note; head: Metadata; trailers: Metadata }> {
    return new Promise((resolve, reject) => {
      let [head, trailers] = [new Metadata(), new Metadata()]
      let answered: Note | undefined
      const settle = () => answered && resolve({ note: answered, head, trailers })
      const call = client.say(note, metadata, deadline === undefined ? {} : { deadline }, (error, answer) => {
        if (error) return reject(error)
        answered = answer
        setImmediate(settle)
      })
      call.on('metadata', (received) => (head = received))
      call.on('status', (ended) => (trailers = ended.metadata))
    })
  }
})

async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  return call.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: ServiceError) => error,
  )
}
