import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { createLine, settled } from '../../test/support/line.ts'
import { speak } from '../../test/support/raw-visitor.ts'
import { startRawUpstream, startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { TIMEOUTS } from './timeouts.ts'
import { createTunnels } from './tunnel.ts'

let edge: TestEdge
let upstream: Upstream
const HOST = 'shop.customer.com'

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge()
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const open = (path = '/socket', more = '', behind = '') =>
  speak(
    { port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem },
    `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n${behind}`,
  )

const usedGauge = async () => Number(/^namesake_edge_upstream_connections\{state="used"\} (\d+)$/m.exec(await edge.metrics())?.[1])

/** Sends until nothing more is taken, at look after look: a machine that stands still makes no more than one of them late. */
async function sendUntilHeldUp(socket: Socket): Promise<void> {
  let taken = 0
  const sendOn = () =>
    void socket.write(Buffer.alloc(100_000), (lost) => {
      taken += 1
      if (!lost) sendOn()
    })
  sendOn()
  let [before, looks] = [-1, 0]
  const isHeldUp = () => {
    looks = taken === before ? looks + 1 : 0
    before = taken
    return looks === 6
  }
  await expect.poll(isHeldUp).toBe(true)
}

/** Connections to applications that carry something. */
const used = async () => {
  const { connections, idle } = (await edge.report()).upstream
  return connections - idle
}

test('a WebSocket is opened with its key, subprotocol and Host, and its bytes pass untouched', async () => {
  const reader = await open('/socket', 'Sec-WebSocket-Protocol: chat, superchat\r\n', 'early')
  const head = await reader.until('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
  expect(head).toMatch(/^Connection: Upgrade\r$/m)
  expect(head).toMatch(/^Upgrade: websocket\r$/m)
  expect(head).toMatch(/^Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r$/m)
  expect(head).toMatch(/^Sec-WebSocket-Protocol: chat\r$/m)
  expect(head).toMatch(new RegExp(`^X-Host: ${HOST}\r$`, 'm'))
  expect(await reader.take(10)).toBe('firstearly')
  const close = '\x88\x82\x00\x00\x00\x00\x0f\xa1' // a close frame with code 4001
  reader.socket.write(Buffer.from(close, 'latin1'))
  expect(await reader.take(close.length)).toBe(close)
  expect((await edge.report()).tunnels).toBe(1)
  reader.socket.end()
  await reader.closed()
})

test('a WebSocket that meets a kept connection which has just died is opened on another, and what was said ahead arrives once', async () => {
  const raw = await startRawUpstream((socket, connection, text) => {
    if (text.startsWith('GET /before')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    else if (connection === 1) socket.destroy()
    else {
      socket.on('data', (chunk) => socket.write(chunk))
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst')
    }
  })
  await edge.route(HOST, raw.url)
  const before = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, `GET /before HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await before.answer()
  const reader = await open('/socket', '', 'early')
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 101 /)
  expect(await reader.take(10)).toBe('firstearly')
  expect(raw.received.length).toBe(3)
  for (const { socket } of [before, reader]) socket.destroy()
  await edge.route(HOST, upstream.url)
  await raw.stop()
})

test('tunnels take no places of the requests to their application, and count as connections that are used', async () => {
  const before = (await edge.report()).upstream.connections
  const usedBefore = await usedGauge()
  const readers = await Promise.all([1, 2, 3].map(() => open()))
  for (const reader of readers) await reader.until('\r\n\r\n')
  expect((await edge.report()).upstream.connections).toBe(before)
  expect(await usedGauge()).toBe(usedBefore + 3)
  for (const reader of readers) reader.socket.destroy()
  await expect.poll(async () => (await edge.report()).tunnels).toBe(0)
  expect((await edge.report()).upstream.connections).toBe(before)
})

test('a visitor that vanishes without a word is found out by TCP, whatever it waits for', async () => {
  const { socket } = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')
  const ends = new RegExp(`:${hex(edge.httpsPort)} \\S+:${hex(socket.localPort!)} 01 \\S+ (\\d\\d):`)
  const timer = () => ['tcp', 'tcp6'].map((file) => ends.exec(readFileSync(`/proc/net/${file}`, 'latin1'))?.[1]).find(Boolean)
  await expect.poll(timer).toBe('02') // the timer of keep-alive, as proc_net_tcp.txt of Linux counts them
  socket.destroy()
})

test('what an application does not take ends its tunnel in the end, also when the visitor has gone unseen', async () => {
  const own = await startTestEdge({ timeouts: { bodyIdleMs: 1_000 } })
  const deaf = await startRawUpstream((socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.pause()
  })
  await own.route(HOST, deaf.url)
  const ask = async () => {
    const head = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    const reader = await speak({ port: own.httpsPort, hostname: HOST, ca: own.ca.certPem }, head)
    await reader.until('101')
    return reader.socket
  }
  const silent = (await ask()).setTimeout(0)
  const sending = await ask()
  await sendUntilHeldUp(sending)
  sending.destroy()
  await expect.poll(async () => (await own.report()).tunnels).toBe(1)
  await expect
    .poll(() => own.lines.filter(({ status }) => status === 101))
    .toMatchObject([{ error: 'timeout', detail: expect.stringContaining('took nothing') }])
  await pause(2_500) // a silent one has no limit
  expect((await own.report()).tunnels).toBe(1)
  silent.destroy()
  await own.stop(0)
  await deaf.stop()
})

test('what a visitor does not take ends its tunnel in the end, and the log says that it was the visitor', async () => {
  const own = await startTestEdge({ timeouts: { bodyIdleMs: 1_000 } })
  onTestFinished(() => own.stop(0))
  const raw = await startRawUpstream((socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.write(Buffer.alloc(20_000_000))
  })
  onTestFinished(() => raw.stop())
  await own.route(HOST, raw.url)
  const head = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  const { socket } = await speak({ port: own.httpsPort, hostname: HOST, ca: own.ca.certPem }, head)
  socket.pause()
  await expect.poll(() => own.lines.filter(({ status }) => status === 101)).toMatchObject([{ error: 'visitor-stalled' }])
  socket.destroy()
})

test('a 101 whose fields make no sense still opens the tunnel, without them', async () => {
  const raw = await startRawUpstream((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTrailer: X\r\n\r\nfirst'),
  )
  await edge.route(HOST, raw.url)
  const reader = await open()
  expect(await reader.until('\r\n\r\n')).not.toMatch(/trailer/i)
  await reader.until('first')
  reader.socket.destroy()
  await edge.route(HOST, upstream.url)
  await raw.stop()
})

test.each(['', 'Upgrade:\r\n', 'Upgrade: websocket, other\r\n'])('a 101 that says %j opens no tunnel', async (upgrade) => {
  const raw = await startRawUpstream((socket) =>
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n${upgrade}\r\nfirst`),
  )
  await edge.route(HOST, raw.url)
  const reader = await open()
  const answer = await reader.answer()
  expect([answer.status, answer.field('namesake-error'), answer.field('upgrade')]).toEqual([502, 'malformed', undefined])
  reader.socket.destroy()
  await edge.route(HOST, upstream.url)
  await raw.stop()
})

test('what each upstream says right behind its 101 reaches its own visitor, when many tunnels open at once', async () => {
  const tunnels = 20
  const waiting: (() => void)[] = []
  const raw = await startRawUpstream((socket, connection) => {
    const behind = String.fromCharCode(64 + connection).repeat(5_000)
    waiting.push(() =>
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Is: ${behind[0]}\r\n\r\n${behind}`),
    )
    if (waiting.length === tunnels) for (const say of waiting) say()
  })
  await edge.route(HOST, raw.url)
  const readers = await Promise.all(Array.from({ length: tunnels }, () => open()))
  for (const reader of readers) {
    const mark = /^X-Is: (.)\r$/m.exec(await reader.until('\r\n\r\n'))![1]!
    expect(await reader.take(5_000)).toBe(mark.repeat(5_000))
    reader.socket.destroy()
  }
  await edge.route(HOST, upstream.url)
  await raw.stop()
})

/** A tunnel to an application of its own, with nobody who reads at either end. */
async function openBothEnds() {
  const opened = Promise.withResolvers<Socket>()
  const raw = await startRawUpstream((socket) => {
    opened.resolve(socket.removeAllListeners('data'))
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  await edge.route(HOST, raw.url)
  const reader = await open()
  await reader.until('\r\n\r\n')
  const visitor = reader.socket.removeAllListeners('data')
  const close = async () => {
    visitor.destroy()
    await edge.route(HOST, upstream.url)
    await raw.stop()
  }
  return { visitor, application: await opened.promise, close }
}

test('a large transfer through a tunnel arrives whole', async () => {
  const reader = await open()
  await reader.until('first')
  const block = 'b'.repeat(1_000_000)
  for (let i = 0; i < 10; i += 1) reader.socket.write(block)
  expect((await reader.take(10_000_000)).length).toBe(10_000_000)
  reader.socket.destroy()
})

test('who does not read holds up who sends, whichever end it is, and all of it arrives when it reads again', async () => {
  const bytes = 64_000_000
  const { visitor, application, close } = await openBothEnds()
  for (const [from, to] of [
    [visitor, application],
    [application, visitor],
  ] as const) {
    to.removeAllListeners('data').pause()
    from.write(Buffer.alloc(bytes))
    await pause(500)
    expect(from.writableLength).toBeGreaterThan(bytes / 2)
    let arrived = 0
    to.on('data', (chunk: Buffer) => (arrived += chunk.length)).resume()
    await expect.poll(() => arrived).toBe(bytes)
  }
  await close()
})

test('what an upstream said before it went reaches a visitor that reads late and goes on sending', async () => {
  const bytes = 300_000
  const raw = await startRawUpstream((socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.end(Buffer.alloc(bytes, 'x'), () => socket.destroy())
  })
  await edge.route(HOST, raw.url)
  const reader = await open()
  await reader.until('\r\n\r\n')
  const visitor = reader.socket.removeAllListeners('data').pause()
  for (let i = 0; i < 10; i += 1) {
    await pause(50)
    visitor.write('still here')
  }
  let arrived = 0
  visitor.on('data', (chunk: Buffer) => {
    arrived += chunk.length
    visitor.write('still here')
  })
  visitor.on('error', () => {})
  visitor.resume()
  await Promise.race([once(visitor, 'end'), pause(10_000)])
  expect(reader.rest.length + arrived).toBe(bytes)
  visitor.destroy()
  await edge.route(HOST, upstream.url)
  await raw.stop()
})

test.each(['application', 'visitor'] as const)(
  'what the %s said before it ended reaches the other one, which takes its time to read it and goes on sending',
  async (first) => {
    const bytes = 1_000_000
    const { visitor, application, close } = await openBothEnds()
    const [from, to] = first === 'visitor' ? [visitor, application] : [application, visitor]
    to.pause()
    from.resume().end(Buffer.alloc(bytes, 'x'))
    for (let i = 0; i < 8; i += 1) {
      await pause(1_000)
      to.write('still here')
    }
    let arrived = 0
    to.on('data', (chunk: Buffer) => {
      arrived += chunk.length
    })
    to.resume()
    await Promise.race([once(to, 'close'), pause(10_000)])
    expect(arrived).toBe(bytes)
    await close()
  },
)

test('who asked ahead and reads late has the answers before a tunnel whose upstream is cut off', async () => {
  const taken: string[] = []
  const line = createLine({ onTaken: (chunk) => void taken.push(chunk.toString()), endsToo: true })
  const tunnels = createTunnels(TIMEOUTS.bodyIdleMs)
  onTestFinished(() => tunnels.destroy())
  line.hold()
  line.socket.write('a whole answer')
  const visitor = line.socket as unknown as TLSSocket
  const upstream = createLine({}).socket as unknown as Socket
  tunnels.open({ visitor, upstream, behindRequest: Buffer.alloc(0), behindAnswer: Buffer.from('words'), onClose() {} })
  upstream.destroy(new Error('read ECONNRESET'))
  await settled()
  line.release()
  await expect.poll(() => visitor.destroyed).toBe(true)
  expect(taken).toEqual(['a whole answer', 'words'])
})

test('what an application said before it went leaves for as long as its visitor takes some of it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const tunnels = createTunnels(TIMEOUTS.bodyIdleMs)
  onTestFinished(() => tunnels.destroy())
  const open = () => {
    const line = createLine({})
    const visitor = Object.assign(line.socket, { bytesRead: 0, bytesWritten: 5 }) as unknown as TLSSocket
    const upstream = Object.assign(createLine({}).socket, { bytesRead: 5, bytesWritten: 0 }) as unknown as Socket
    line.hold()
    tunnels.open({ visitor, upstream, behindRequest: Buffer.alloc(0), behindAnswer: Buffer.from('words'), onClose() {} })
    upstream.destroy()
    return { line, visitor }
  }
  const slow = open()
  const deaf = open()
  await settled()
  const pass = async (ms: number) => {
    vi.advanceTimersByTime(ms)
    await settled()
  }
  await pass(TIMEOUTS.bodyIdleMs - 1_000)
  expect([slow.visitor.destroyed, deaf.visitor.destroyed]).toEqual([false, false])
  slow.line.release()
  await settled()
  expect(slow.visitor.writableFinished).toBe(true)
  await pass(3_000)
  expect([slow.visitor.destroyed, deaf.visitor.destroyed]).toEqual([false, true])
  await pass(3_000)
  expect(slow.visitor.destroyed).toBe(true) // it had its moment to end as well
  await settled()
})

test('an end that says more when the other has gone, and then ends properly, is let go at once', async () => {
  let application: Socket | undefined
  const raw = await startRawUpstream((socket) => {
    application = socket
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst')
    socket.once('end', () => socket.write('goodbye', () => socket.end()))
  })
  await edge.route(HOST, raw.url)
  const gone = await open()
  await gone.until('first')
  gone.socket.destroy()
  await expect.poll(used, { timeout: 3_000 }).toBe(0)
  const left = await open()
  await left.until('first')
  left.socket.allowHalfOpen = true
  application!.destroy()
  for (let i = 0; i < 3; i += 1) {
    await pause(100)
    left.socket.write('still here')
  }
  left.socket.end()
  await expect.poll(async () => (await edge.report()).tunnels, { timeout: 3_000 }).toBe(0)
  await edge.route(HOST, upstream.url)
  await raw.stop()
})

test('a change of protocol may be asked for by any method', async () => {
  const raw = await startRawUpstream((socket, _nth, text) => {
    const isAsked = /^POST .*\r\n(?:.*\r\n)*Upgrade: tcp\r\n/i.test(text)
    socket.write(
      isAsked
        ? 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhello'
        : 'HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n',
    )
  })
  await edge.route(HOST, raw.url)
  const head = `POST /containers/1/attach HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n`
  const reader = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, head)
  expect((await reader.until('\r\n\r\n')).split('\r\n')[0]).toBe('HTTP/1.1 101 UPGRADED')
  expect(await reader.until('hello')).toBe('hello')
  reader.socket.destroy()
  await edge.route(HOST, upstream.url)
  await raw.stop()
})

test('an upstream that refuses the change of protocol answers as usual', async () => {
  const reader = await open('/no-upgrade')
  expect(await reader.answer()).toMatchObject({ status: 403, body: 'refused' })
  await reader.closed()
})

test('an upstream that is not there is a 502', async () => {
  await edge.route(HOST, 'http://127.0.0.1:1')
  const reader = await open()
  const answer = await reader.answer()
  expect([answer.status, answer.field('namesake-error')]).toEqual([502, 'refused'])
  await edge.route(HOST, upstream.url)
})

test('a tunnel ends within a second when its hostname is removed or belongs to somebody else', async () => {
  for (const change of [() => Promise.resolve(edge.hosts.delete(HOST)), () => edge.route(HOST, upstream.url, { projectId: '2' })]) {
    await edge.route(HOST, upstream.url)
    const reader = await open()
    await reader.until('first')
    await change()
    await reader.closed()
  }
  await expect.poll(() => edge.lines.filter(({ error }) => error === 'hostname-gone')).toHaveLength(2)
  await edge.route(HOST, upstream.url)
})

test('when one end of a tunnel goes, so does the other, and one line is logged', async () => {
  const reader = await open('/logged-socket')
  await reader.until('first')
  reader.socket.destroy()
  await expect.poll(() => edge.lines.find(({ path }) => path === '/logged-socket')).toMatchObject({ status: 101, bytes: 5 })
  expect((await edge.report()).tunnels).toBe(0)
  await expect.poll(used).toBe(0)
})
