import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../support/edge.ts'
import { openHttp2, requestHttp2, speak } from '../support/raw-visitor.ts'
import { type RawUpstream, startRawUpstream } from '../support/upstream.ts'

const VICTIM = 'victim.customer.com'
const STRANGER = 'victim.customer.org'
const ATTACKER = 'attacker.customer.com'
const POISON = 'HTTP/1.1 200 OK\r\nX-Poison: 1\r\nContent-Length: 6\r\n\r\npoison'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const ROUNDS = 5

/** An answer to the attacker's own request, and what of it the attacker itself may get. */
const ANSWERS: [name: string, method: string, answer: string, status: number][] = [
  ['two answers', 'GET', `${OK}${POISON}`, 200],
  ['an answer behind 204', 'GET', `HTTP/1.1 204 No Content\r\n\r\n${POISON}`, 204],
  ['204 with a length', 'GET', `HTTP/1.1 204 No Content\r\nContent-Length: ${POISON.length}\r\n\r\n${POISON}`, 204],
  ['204 with chunks', 'GET', `HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${POISON}`, 204],
  ['304 with a body', 'GET', `HTTP/1.1 304 Not Modified\r\nContent-Length: ${POISON.length}\r\n\r\n${POISON}`, 304],
  ['a body to HEAD', 'HEAD', `HTTP/1.1 200 OK\r\nContent-Length: ${POISON.length}\r\n\r\n${POISON}`, 200],
  ['chunks to HEAD', 'HEAD', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${POISON}`, 200],
  ['an answer behind chunks', 'GET', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${POISON}`, 200],
  ['both framings', 'GET', `HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${POISON}`, 502],
  ['two lengths', 'GET', `HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: ${POISON.length}\r\n\r\n${POISON}`, 502],
  ['a coding that is hidden', 'GET', `HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding:\x0bchunked\r\n\r\n${POISON}`, 502],
  ['a folded coding', 'GET', `HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n${POISON}`, 502],
  ['a change of protocol that nobody asked for', 'GET', `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n${POISON}`, 502],
  ['a hint with an answer as its body', 'GET', `HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\n${OK}${POISON}`, 200],
  ['100 and an answer behind the answer', 'GET', `${OK}HTTP/1.1 100 Continue\r\n\r\n${POISON}`, 200],
  ['CR LF in the reason', 'GET', `HTTP/1.1 200 OK\r\r\nX-Poison: 1\r\nContent-Length: 2\r\n\r\nok`, 502],
  ['half an answer more', 'GET', `${OK}HTTP/1.1 200 OK\r\nX-Half: `, 200],
  ['a line end more', 'GET', `${OK}\r\n`, 200],
]

let edge: TestEdge
let application: RawUpstream

beforeAll(async () => {
  // One application for all. Two hostnames of one project share its connections; the stranger's project has connections of its own.
  application = await startRawUpstream((socket, _number, text) => {
    const host = /^Host: (.*?)\r$/im.exec(text)?.[1]
    const row = /^\w+ \/row\/(\d+)(\/late)? /.exec(text)
    if (host === ATTACKER && row) return answerBadly(socket, ANSWERS[Number(row[1])]![2], row[2] !== undefined)
    const body = `${host} ${text.split(' ', 2)[1]}`
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  })
  edge = await startTestEdge({ http2Engine: 'own' })
  await edge.route(ATTACKER, application.url)
  await edge.route(VICTIM, application.url)
  await edge.route(STRANGER, application.url, { projectId: '2' })
})
afterAll(async () => {
  await edge.stop(0)
  await application.stop()
})

/** At once, or with the poison a moment later: when the connection waits for its next request. */
function answerBadly(socket: Socket, answer: string, late: boolean): void {
  const at = answer.lastIndexOf('HTTP/1.1')
  if (!late || at === 0) return void socket.write(answer, 'latin1')
  socket.write(answer.slice(0, at), 'latin1')
  setTimeout(() => socket.writable && socket.write(answer.slice(at), 'latin1'), 5)
}

const target = (hostname: string) => ({ port: edge.httpsPort, hostname, ca: edge.ca.certPem })
const request = (method: string, path: string, hostname: string) => `${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`

// What comes late on a connection that is in use again is the answer to the next request, to whoever reads HTTP/1.1: within a project only.
describe.each([
  ['at once', '', VICTIM],
  ['at once', '', STRANGER],
  ['late', '/late', STRANGER],
])('an application that poisons %s', (_when, when, hostname) => {
  test.each(ANSWERS.map(([name, method, , status], i) => [name, method, status, i] as const))(
    `%s: the next visitor of ${hostname} gets its own answer`,
    async (_name, method, status, i) => {
      const victim = await speak(target(hostname), '')
      for (let round = 0; round < ROUNDS; round += 1) {
        const attacker = await speak(target(ATTACKER), request(method, `/row/${i}${when}`, ATTACKER))
        const got = await attacker.answer({ bodiless: method === 'HEAD' || status === 204 || status === 304 })
        if (when === '') expect([got.status, got.head.includes('X-Poison')]).toEqual([status, false])
        victim.socket.write(request('GET', `/${round}`, hostname))
        const { body, head } = await victim.answer()
        expect([body, head.includes('X-Poison')]).toEqual([`${hostname} /${round}`, false])
        attacker.socket.destroy()
      }
      victim.socket.destroy()
    },
  )
})

test('over HTTP/2 a hostile application spoils its own streams, and none beside them', async () => {
  const session = await openHttp2(target(STRANGER))
  const attacker = await openHttp2(target(ATTACKER))
  for (let round = 0; round < ROUNDS; round += 1) {
    const bad = ANSWERS.map(([, method], i) =>
      // What comes late may answer the application's own next request: that is its own matter.
      requestHttp2(attacker, { ':method': method, ':path': `/row/${i}${round % 2 ? '/late' : ''}`, ':authority': ATTACKER }).catch(
        () => {},
      ),
    )
    const good = Array.from({ length: 20 }, async (_, i) => {
      const { body } = await requestHttp2(session, { ':path': `/${round}/${i}`, ':authority': STRANGER })
      expect(body).toBe(`${STRANGER} /${round}/${i}`)
    })
    await Promise.all([...bad, ...good])
  }
  session.close()
  attacker.close()
})

// Programs that treat HEAD like GET send the head, and a moment later the body.
test.each([
  ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n', 'HEAD'],
  ['304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 80\r\n\r\n', 'GET'],
])(
  'an application that was seen to send a body behind %s a moment later answers no other request with the next one',
  async (_name, head, method) => {
    const bad: Socket[] = []
    let isOn = false
    const careless = await startRawUpstream((socket, _number, text) => {
      if (text.includes('/bad ')) {
        bad.push(socket)
        return void socket.write(head)
      }
      for (const one of bad) if (isOn && one.writable) one.write(POISON) // the rest of what went before comes with the next request
      socket.write(OK)
    })
    try {
      await edge.route('careless.customer.com', careless.url, { projectId: '3' })
      const visitor = await speak(target('careless.customer.com'), '')
      const asks = async (how: string, path: string, bodiless = false) => {
        visitor.socket.write(request(how, path, 'careless.customer.com'))
        return await visitor.answer({ bodiless })
      }
      await asks(method, '/bad', true)
      bad[0]!.write(POISON)
      await once(bad[0]!, 'close')
      await asks(method, '/bad', true)
      isOn = true
      expect((await asks('GET', '/good')).body).toBe('ok')
      visitor.socket.destroy()
    } finally {
      await careless.stop()
    }
  },
)

test('a connection that is told good-bye while it is idle is no such one, and is kept behind HEAD', async () => {
  const polite = await startRawUpstream((socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n'))
  try {
    await edge.route('polite.customer.com', polite.url, { projectId: '4' })
    const visitor = await speak(target('polite.customer.com'), '')
    const head = async () => {
      visitor.socket.write(request('HEAD', '/', 'polite.customer.com'))
      await visitor.answer({ bodiless: true })
    }
    await head()
    polite.connections[0]!.end('HTTP/1.1 408 Request Time-out\r\nConnection: close\r\n\r\n')
    await once(polite.connections[0]!, 'close')
    await head()
    await head()
    expect(polite.connections).toHaveLength(2)
    visitor.socket.destroy()
  } finally {
    await polite.stop()
  }
})
