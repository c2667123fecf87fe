import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Hostname } from '../hostname.ts'
import type { Reached } from './acknowledgements.ts'
import { connectToFollower, type FollowerEvents, type FollowerLink } from './client.ts'
import { cursorAt, foundRoute, routeOf, shop, temporaryFolder } from './copy.fixture.ts'
import type { CertificateRequestAnswer, RouteAnswer } from './messages.ts'
import type { ChangedKeys } from './rows.ts'
import { type CopyServer, type CopyServerParts, startCopyServer } from './server.ts'

let place: ReturnType<typeof temporaryFolder>
let socketPath: string
let running: { close: () => unknown }[]

beforeEach(() => {
  place = temporaryFolder()
  socketPath = join(place.folder, 'follower.sock')
  running = []
})
afterEach(async () => {
  for (const { close } of running.reverse()) await close()
  place.remove()
})

async function serve(on: Partial<CopyServerParts['on']> = {}): Promise<CopyServer> {
  const server = await startCopyServer({
    socketPath,
    on: {
      findRoute: async (hostname) => ({ kind: 'route', route: foundRoute(routeOf(hostname)) }),
      requestCertificate: async () => ({ kind: 'requested' }),
      visitorCame: () => {},
      ...on,
    },
  })
  running.push({ close: () => server.stop() })
  return server
}

type Listener = { link: FollowerLink; changed: ChangedKeys[]; resets: () => number }

async function listen(events: Partial<FollowerEvents> = {}): Promise<Listener> {
  const changed: ChangedKeys[] = []
  let resets = 0
  const link = connectToFollower(socketPath, { onChanged: (keys) => changed.push(keys), onReset: () => (resets += 1), ...events })
  running.push(link)
  return { link, changed, resets: () => resets }
}

async function connected(events: Partial<FollowerEvents> = {}): Promise<Listener> {
  const listener = await listen(events)
  await expect.poll(listener.resets).toBe(1)
  return listener
}

async function rawClient(): Promise<Socket> {
  const socket = connect(socketPath)
  socket.on('error', () => {})
  running.push({ close: () => socket.destroy() })
  await once(socket, 'connect')
  return socket
}

test('a process tells the follower which names of a bounded copy it uses', async () => {
  const used: Hostname[][] = []
  await serve({ hostnamesUsed: (hostnames) => void used.push(hostnames) })
  const { link } = await connected()
  link.hostnamesUsed(Array.from({ length: 1_200 }, (_, number) => shop(number)))
  await expect.poll(() => used.map(({ length }) => length)).toEqual([500, 500, 200])
  expect(used.flat().at(-1)).toBe(shop(1_199))
})

test('more names than fit the queue are not all told, and the link stays', async () => {
  const used: Hostname[] = []
  await serve({ hostnamesUsed: (hostnames) => void used.push(...hostnames) })
  const { link, resets } = await connected()
  const names = Array.from({ length: 100_000 }, (_, number) => shop(number))
  link.hostnamesUsed(names)
  expect(await link.findRoute(shop(1))).toMatchObject({ kind: 'route' })
  expect(resets()).toBe(1)
  expect(used.length).toBeGreaterThan(1_000)
  expect(used).toEqual(names.slice(0, used.length))
})

test('damage that was met while there was no follower is told to the next one, until the copy is replaced', async () => {
  const told: string[] = []
  const copyDamaged = (sentence: string) => void told.push(sentence)
  const first = await serve()
  const { link, resets } = await connected()
  await first.stop()
  await expect.poll(() => link.status().connected).toBe(false)
  link.copyDamaged('page 7 is torn')
  const second = await serve({ copyDamaged })
  await expect.poll(() => told).toEqual(['page 7 is torn'])
  const before = resets()
  second.reset()
  await expect.poll(resets).toBe(before + 1)
  await second.stop()
  await serve({ copyDamaged })
  await expect.poll(() => link.findRoute(shop(1))).toMatchObject({ kind: 'route' })
  expect(told).toEqual(['page 7 is torn'])
})

test('a process asks the follower for a route, and for a certificate', async () => {
  const route = foundRoute(routeOf(shop(1), { metadataJson: '{"line":"a\\nb","emoji":"🦊"}' }))
  await serve({
    findRoute: async (hostname) => (hostname === shop(1) ? { kind: 'route', route } : { kind: 'unknown' }),
    requestCertificate: async (hostname) => (hostname === shop(1) ? { kind: 'requested' } : { kind: 'refused', reason: 'in back-off' }),
  })
  const { link } = await connected()
  expect(await link.findRoute(shop(1))).toEqual({ kind: 'route', route })
  expect(await link.findRoute(shop(2))).toEqual({ kind: 'unknown' })
  expect(await link.requestCertificate(shop(1))).toEqual({ kind: 'requested' })
  expect(await link.requestCertificate(shop(2))).toEqual({ kind: 'refused', reason: 'in back-off' })
})

test('every process hears what changed, thousands of keys in pieces that fit a line', async () => {
  const server = await serve()
  const listeners = [await connected(), await connected()]
  const routes = Array.from({ length: 1_234 }, (_, number) => shop(number))
  server.changed({ routes, tokens: ['5'], projects: ['9'] })
  for (const { changed } of listeners) {
    await expect.poll(() => changed.flatMap((keys) => keys.tokens)).toEqual(['5'])
    expect(changed.flatMap((keys) => keys.routes)).toEqual(routes)
    expect(changed.flatMap((keys) => keys.projects)).toEqual(['9'])
    expect(Math.max(...changed.map((keys) => keys.routes.length))).toBeLessThanOrEqual(500)
  }
})

test('a process knows how fresh the copy is, and its lag grows once the follower is silent', async () => {
  const server = await serve()
  server.heartbeat({ lagMs: 3, complete: true, asOfMs: 900 })
  const { link } = await connected()
  expect(link.status()).toMatchObject({ connected: true, complete: true, asOfMs: 900 })
  server.heartbeat({ lagMs: 20, complete: false, asOfMs: 950 })
  await expect.poll(() => link.status().asOfMs).toBe(950)
  expect(link.status().complete).toBe(false)
  await expect.poll(() => link.status().lagMs).toBeGreaterThan(40)
})

test('a process comes back when the follower was restarted, and forgets what it remembered', async () => {
  const first = await serve()
  const { link, resets } = await connected()
  await first.stop()
  await expect.poll(() => link.status().connected).toBe(false)
  await expect.poll(resets).toBe(2)
  expect(await link.findRoute(shop(1))).toEqual({ kind: 'unavailable' })
  expect(await link.requestCertificate(shop(1))).toMatchObject({ kind: 'refused' })
  await serve()
  await expect.poll(resets).toBe(3)
  expect(await link.findRoute(shop(1))).toMatchObject({ kind: 'route' })
})

const reachedAt = (seq: number): Reached => ({ cursor: cursorAt(seq), asOfMs: seq })

test('the machine has reached a place once each of its processes has dropped what came before, and one that left is not waited for', async () => {
  const server = await serve()
  const status = { lagMs: 0, complete: true, asOfMs: 0 }
  expect(server.applied()).toEqual({ reached: undefined, edge: undefined })
  await connected({ vitals: () => ({ connections: 2, load: 0.25 }) })
  await connected()
  server.heartbeat(status, reachedAt(1))
  await expect.poll(server.applied).toEqual({ reached: reachedAt(1), edge: { connections: 2, load: 0.25 } })

  const silent = await rawClient()
  await expect.poll(server.clients).toBe(3)
  server.heartbeat(status, reachedAt(2))
  const other = await connected({ vitals: () => ({ connections: 3, load: 0.5 }) })
  await expect.poll(server.applied).toEqual({ reached: reachedAt(1), edge: { connections: 5, load: 0.75 } })
  silent.destroy()
  await expect.poll(server.applied).toMatchObject({ reached: reachedAt(2) })
  other.link.close()
  await expect.poll(server.applied).toMatchObject({ edge: { connections: 2 } })
})

test('a place is confirmed behind the news that came before it', async () => {
  const server = await serve()
  const heard = { keys: 0, atConfirmation: 0 }
  const vitals = () => {
    heard.atConfirmation = heard.keys
    return { connections: 0, load: 0 }
  }
  await connected({ vitals, onChanged: (keys) => (heard.keys += keys.routes.length) })
  server.changed({ routes: [shop(1)] })
  server.heartbeat({ lagMs: 0, complete: true, asOfMs: 0 }, reachedAt(1))
  await expect.poll(() => server.applied().reached).toEqual(reachedAt(1))
  expect(heard.atConfirmation).toBe(1)
})

test('a process may start before its follower', async () => {
  const { link, resets } = await listen()
  expect(link.status()).toMatchObject({ connected: false, complete: false })
  const heard = link.firstHeard(60_000)
  await link.firstHeard(1)
  expect(link.status().connected).toBe(false)
  await serve()
  await heard
  expect(link.status().connected).toBe(true)
  await expect.poll(resets).toBe(1)
})

test('a question that is under way when the follower dies is answered as unavailable', async () => {
  const asked = Promise.withResolvers<void>()
  const server = await serve({
    findRoute: () => {
      asked.resolve()
      return new Promise<RouteAnswer>(() => {})
    },
  })
  const { link } = await connected()
  const answer = link.findRoute(shop(1))
  await asked.promise
  await server.stop()
  expect(await answer).toEqual({ kind: 'unavailable' })
})

test('a question that nobody answers ends as unavailable, a failing one at once', async () => {
  await serve({
    findRoute: (hostname) => (hostname === shop(1) ? new Promise<RouteAnswer>(() => {}) : Promise.reject(new Error('down'))),
    requestCertificate: () => Promise.reject(new Error('down')),
  })
  const { link } = await connected()
  expect(await link.findRoute(shop(2))).toEqual({ kind: 'unavailable' })
  expect(await link.requestCertificate(shop(2))).toMatchObject({ kind: 'refused' })
  expect(await link.findRoute(shop(1))).toEqual({ kind: 'unavailable' })
})

test('many handshakes for one hostname, over all processes, are one certificate request', async () => {
  let requests = 0
  const answer = Promise.withResolvers<CertificateRequestAnswer>()
  await serve({
    requestCertificate: () => {
      requests += 1
      return answer.promise
    },
    findRoute: async () => ({ kind: 'unknown' }),
  })
  const links = [(await connected()).link, (await connected()).link]
  const asked = links.flatMap((link) => Array.from({ length: 100 }, () => link.requestCertificate(shop(1))))
  for (const link of links) await link.findRoute(shop(2)) // answered after the requests have arrived
  answer.resolve({ kind: 'requested' })
  expect(new Set((await Promise.all(asked)).map(({ kind }) => kind))).toEqual(new Set(['requested']))
  expect(requests).toBe(1)
})

test('visits of one hostname are passed on once', async () => {
  const visited: Hostname[] = []
  await serve({ visitorCame: (hostname) => void visited.push(hostname) })
  const { link } = await connected()
  for (let visit = 0; visit < 1_000; visit += 1) link.visitorCame(shop(visit % 2))
  await link.findRoute(shop(9))
  expect(visited).toEqual([shop(0), shop(1)])
})

test('a process that does not read is cut off, and the others hear everything', async () => {
  const server = await serve()
  const stuck = await rawClient()
  stuck.pause()
  const { changed } = await connected()
  expect(server.clients()).toBe(2)
  const routes = Array.from({ length: 500 }, (_, number) => shop(number))
  let pushed = 0
  while (server.clients() === 2 && pushed < 5_000) {
    for (let push = 0; push < 20; push += 1) server.changed({ routes })
    pushed += 20
    await expect.poll(() => changed.length, { interval: 1 }).toBe(pushed)
  }
  expect(server.clients()).toBe(1)
})

for (const [what, bytes] of [
  ['a line that never ends', Buffer.alloc(3 * 1024 * 1024, 'x')],
  ['something that is not JSON', Buffer.from('hello\n')],
  ['a hostname that is none', Buffer.from('{"type":"find-route","id":1,"hostname":"no host"}\n')],
] as const) {
  test(`${what} ends the connection, not the follower`, async () => {
    const server = await serve()
    const socket = await rawClient()
    socket.resume()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(bytes)
    await closed
    const { link } = await connected()
    expect(await link.findRoute(shop(1))).toMatchObject({ kind: 'route' })
    expect(server.clients()).toBe(1)
  })
}

test('the socket is closed to other users, replaces what a killed follower left, and is gone after the end', async () => {
  writeFileSync(socketPath, '')
  writeFileSync(`${socketPath}.new`, '')
  const server = await serve()
  expect(statSync(socketPath).mode & 0o777).toBe(0o600)
  await connected()
  await server.stop()
  expect(existsSync(socketPath)).toBe(false)
})

test('a socket path that the system would cut short is refused with a sentence', async () => {
  socketPath = join(place.folder, 'x'.repeat(100), 'follower.sock')
  await expect(serve()).rejects.toThrow('too long')
})
