import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PLAIN } from '../../test/support/plain-request.ts'
import { ArrivingBody } from './arriving-body.ts'
import { LastAnswerHead } from './last-answer-head.ts'
import { TIMEOUTS } from './timeouts.ts'
import type { Turn, TurnMember } from './turn.ts'
import { readUpstream } from './upstream.ts'
import { UpstreamConnection } from './upstream-connection.ts'
import type { Broken } from './upstream-listener.ts'
import { connectSharing } from './upstream-reads.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import { UpstreamSurplus } from './upstream-surplus.ts'

const GATHERED_BYTES = 72 * 1024
const RECORD_BYTES = 16 * 1024
const EARLY = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n'

let server: Server
let socket: Socket
let application: Socket
let received: string
beforeEach(async () => {
  received = ''
  server = createServer((accepted) => {
    application = accepted.on('error', () => {})
    application.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  socket = connectSharing({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  await Promise.all([once(socket, 'connect'), once(server, 'connection')])
})
afterEach(() => {
  socket.destroy()
  application.destroy()
  server.close()
})

/** The turns end when the test says so. */
function createHandTurn() {
  let members: TurnMember[] = []
  const end = () => {
    const asked = members
    members = []
    for (const member of asked) member.endTurn()
  }
  const add = (member: TurnMember) => void members.push(member)
  const turn: Turn = { add, addWriter: add, endSoon: end, nowMs: () => performance.now(), timeMs: () => Date.now() }
  return { turn, end }
}

function begin(turn: Turn, timeouts = TIMEOUTS) {
  const freed: UpstreamConnection[] = []
  const statuses: number[] = []
  const broken: Broken[] = []
  const upstream = readUpstream('http://127.0.0.1', 'http1', 'one')
  const free = (connection: UpstreamConnection) => void freed.push(connection)
  const on = { free, close: () => {}, turn, lastHead: new LastAnswerHead(), surplus: new UpstreamSurplus() }
  const connection = new UpstreamConnection(socket, upstream, timeouts, on)
  const send = (request: Partial<UpstreamRequest>) =>
    connection.send(
      { ...PLAIN, ...request },
      {
        onInterim: () => {},
        onHead: ({ status }) => void statuses.push(status),
        onData: () => {},
        onEnd: () => {},
        onUpgrade: () => {},
        onBroken: (ending) => void broken.push(ending),
      },
    )
  return { connection, freed, statuses, broken, send }
}

/** An upload whose head has arrived at the application. */
async function beginUpload() {
  const { turn, end } = createHandTurn()
  const { freed, statuses, send } = begin(turn)
  const body = new ArrivingBody(undefined, () => {})
  send({ body })
  end()
  await expect.poll(() => received).toContain('chunked')
  return { body, end, freed, statuses }
}

const SILENT = { onInterim() {}, onHead() {}, onData() {}, onEnd() {}, onUpgrade() {}, onBroken() {} }

const tick = () => new Promise((resolve) => process.nextTick(resolve))

test("a connection is not the next one's while the end of an upload that was answered early has not left", async () => {
  const { body, freed, statuses } = await beginUpload()
  for (let sent = 0; sent + RECORD_BYTES < GATHERED_BYTES; sent += RECORD_BYTES) body.push(Buffer.alloc(RECORD_BYTES, 'u'))
  body.end([])
  await tick()
  application.write(EARLY)
  await expect.poll(() => statuses).toEqual([401])
  expect(freed).toEqual([])
  expect(socket.destroyed).toBe(true)
})

test("a connection is not the next one's while the system has not taken all of an upload that was answered early", async () => {
  const { body, end, freed, statuses } = await beginUpload()
  application.pause()
  const upload = async () => {
    body.push(Buffer.alloc(RECORD_BYTES, 'u'))
    end()
    await new Promise((resolve) => setImmediate(resolve))
  }
  while (socket.writableLength === 0) await upload()
  body.end([])
  await tick()
  end()
  application.write(EARLY)
  await expect.poll(() => statuses).toEqual([401])
  expect(freed).toEqual([])
  expect(socket.destroyed).toBe(true)
})

test("a connection whose request has left is the next one's as soon as it is answered", async () => {
  const { turn, end } = createHandTurn()
  const { freed, send } = begin(turn)
  send({})
  end()
  await expect.poll(() => received).toContain('\r\n\r\n')
  application.write(EARLY)
  await expect.poll(() => freed.length).toBe(1)
  expect(socket.destroyed).toBe(false)
})

test('a connection that is old carries what it has, and nothing more', async () => {
  const { turn, end } = createHandTurn()
  const { freed, statuses, send } = begin(turn, { ...TIMEOUTS, upstreamAgeMs: 0 })
  send({})
  end()
  await expect.poll(() => received).toContain('\r\n\r\n')
  application.write(EARLY)
  await expect.poll(() => socket.destroyed).toBe(true)
  expect([statuses, freed]).toEqual([[401], []])
})

test('a connection that has rested counts as kept, also when it carried nothing yet', async () => {
  const { turn } = createHandTurn()
  const { connection, send } = begin(turn)
  send({})
  expect(connection.isReused).toBe(false)
  const rested = new UpstreamConnection(socket, connection.upstream, TIMEOUTS, {
    ...{ free: () => {}, close: () => {}, turn, lastHead: new LastAnswerHead(), surplus: new UpstreamSurplus() },
  })
  rested.rest()
  rested.send(PLAIN, SILENT)
  expect(rested.isReused).toBe(true)
})

test('a large upload whose connection has just broken is a failure that is told', async () => {
  const { turn, end } = createHandTurn()
  const { broken, send } = begin(turn)
  const body = new ArrivingBody(undefined, () => {})
  send({ body })
  end()
  for (let sent = 0; sent < 3 * GATHERED_BYTES; sent += RECORD_BYTES) body.push(Buffer.alloc(RECORD_BYTES, 'u'))
  socket.destroy(new Error('write ECONNRESET')) // which is told later than the body is handed over
  await tick()
  await expect.poll(() => broken).toMatchObject([{ kind: 'unanswered', failure: { reason: 'reset' } }])
})
