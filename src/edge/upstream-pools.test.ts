import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { TIMEOUTS } from './timeouts.ts'
import { createTurn } from './turn.ts'
import { readUpstream, UpstreamFailure } from './upstream.ts'
import { createUpstreamPools, type UpstreamPools } from './upstream-pools.ts'
import { createUpstreamRoom } from './upstream-room.ts'

const CONNECTIONS_MAX = 4
const application = createServer((socket) => void socket.on('error', () => {}).resume())
const port = () => (application.address() as AddressInfo).port
const upstream = () => readUpstream(`http://127.0.0.1:${port()}`, 'http1', '1')

let pools: UpstreamPools
/** As where this machine has no free port any more. */
let mayConnect: boolean
let refused: number
beforeAll(async () => void (await once(application.listen(0, '127.0.0.1'), 'listening')))
afterAll(() => void application.close())
beforeEach(() => {
  mayConnect = true
  refused = 0
  pools = createUpstreamPools({
    connect: tryConnect,
    room: createUpstreamRoom(2 * CONNECTIONS_MAX),
    timeouts: TIMEOUTS,
    turn: createTurn(),
    visitorsMax: 0,
  })
  return () => pools.destroy()
})

async function tryConnect() {
  if (!mayConnect) {
    refused += 1
    throw new UpstreamFailure('busy', 'no free port')
  }
  const socket = connect(port(), '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

const acquire = async () => pools.acquire(upstream())
const takeAll = () => Promise.all(Array.from({ length: CONNECTIONS_MAX }, acquire))

test('while this machine can open no further connection, who waits for one waits on for those that are open', async () => {
  const [first, second] = await takeAll()
  const waiting = [acquire(), acquire(), acquire()]
  mayConnect = false
  first!.destroy()
  await expect.poll(() => refused).toBe(1)
  for (const served of waiting) {
    second!.release()
    expect(await served).toBe(second)
  }
  expect(refused).toBe(1)
})

test('and is told so once none is open any more', async () => {
  const taken = await takeAll()
  const waiting = [acquire(), acquire(), acquire()]
  mayConnect = false
  for (const connection of taken) connection.destroy()
  for (const outcome of await Promise.allSettled(waiting)) expect(outcome).toMatchObject({ status: 'rejected', reason: { reason: 'busy' } })
  await expect.poll(() => pools.counts()).toEqual({ pools: 0, connections: 0, idle: 0 })
})

test('a connection that is taken and comes back unused has rested all the while: its application counts from its last answer', async () => {
  const connection = await acquire()
  connection.release()
  const since = connection.restsSinceMs
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await acquire()).toBe(connection)
  connection.release()
  expect(connection.restsSinceMs).toBe(since)
})
