import { once } from 'node:events'
import { BoundSocket, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { bindSockets, explainUnbound, handedSockets } from './listening-sockets.ts'

const SCRIPT = '/nobody/runs/this.ts'
const wanted = (name: string, port: number, host = '127.0.0.1') => ({
  name,
  variable: `NAMESAKE_${name.toUpperCase()}_ADDR`,
  address: { host, port },
})

test('a bound socket serves whoever listens on its descriptor', async () => {
  const sockets = await bindSockets([wanted('api', 0)], new Map(), SCRIPT)
  const server = createServer((socket) => socket.end('here')).listen({ fd: sockets.fds.api! })
  await once(server, 'listening')
  const [words] = (await once(connect(sockets.portOf('api'), '127.0.0.1'), 'data')) as [Buffer]
  expect(words.toString()).toBe('here')
  server.close()
  sockets.close()
})

test('what systemd handed over is used as it is, by name', async () => {
  const env = { LISTEN_PID: '42', LISTEN_FDS: '2', LISTEN_FDNAMES: 'https:http' }
  expect([...handedSockets(env, 42)]).toEqual([
    ['https', 3],
    ['http', 4],
  ])
  expect(handedSockets(env, 43).size).toBe(0) // meant for another process
  expect(handedSockets({}, 42).size).toBe(0)
  const occupied = new BoundSocket({ host: '127.0.0.1' })
  const sockets = await bindSockets([wanted('https', occupied.address().port)], new Map([['https', 7]]), SCRIPT)
  expect(sockets.fds).toEqual({ https: 7 })
  occupied.close()
})

test('every address that cannot be had is named, in one message, and none stays bound', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as { port: number }
  const attempt = bindSockets([wanted('api', port), wanted('http', 0), wanted('https', 443, '203.0.113.1')], new Map(), SCRIPT)
  await expect(attempt).rejects.toThrow(
    expect.objectContaining({
      message: expect.stringMatching(
        /^NAMESAKE_API_ADDR: port \d+ of 127\.0\.0\.1 is in use .*\nNAMESAKE_HTTPS_ADDR: this machine has no address 203\.0\.113\.1/,
      ),
    }),
  )
  holder.close()
})

test('whoever listens to IPv6 on a machine without it is told what to set', () => {
  expect(explainUnbound(wanted('https', 443, '::'), 'EAFNOSUPPORT')).toBe(
    'NAMESAKE_HTTPS_ADDR: this machine has no IPv6 for [::]:443. Set NAMESAKE_HTTPS_ADDR=0.0.0.0:443 to listen to IPv4',
  )
})
