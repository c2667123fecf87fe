import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AggregatorRegistry, type MetricObject } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Child, FromChild, ToChild } from './child.ts'
import type { Env } from './config.ts'
import { createGatherer } from './gather.ts'
import { createLog } from './log.ts'
import { type RoleProcess, startRoleProcess } from './role-process.ts'

/** Each time that it is asked it has served five requests more, and three connections are open. */
const SERVE = `
  let served = 0
  const metric = (name, type, value, labels) => ({ name, type, help: name, aggregator: 'sum', values: [{ value, labels }] })
  process.on('message', ({ id }) => {
    served += 5
    const metrics = [metric('requests_total', 'counter', served, { class: '2xx' }), metric('connections', 'gauge', 3, {})]
    process.send({ type: 'report', id, report: { role: 'edge', pid: process.pid, ready: true, details: {}, metrics } })
  })
  process.on('SIGTERM', () => setTimeout(() => process.exit(0), Number(process.env.DRAIN_MS ?? 0)))
  process.send({ type: 'ready' })`

/** Serves only while it has the lock, which its predecessor lets go when it is told to end, and some time after it got it. */
const TAKE_OVER = `
  import { rmSync, writeFileSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  const lock = process.argv[1] + '.lock'
  let ready = false
  process.on('message', ({ id }) => process.send({ type: 'report', id, report: { role: 'edge', pid: process.pid, ready, details: {}, metrics: [] } }))
  process.on('SIGTERM', () => {
    rmSync(lock)
    process.exit(0)
  })
  const take = () => {
    try {
      writeFileSync(lock, '', { flag: 'wx' })
      return true
    } catch {
      return false
    }
  }
  while (!take()) {
    process.send({ type: 'waiting' })
    await pause(10)
  }
  await pause(200)
  ready = true
  process.send({ type: 'ready' })`

function startPlaces(count: number, program = SERVE, env: Env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-gather-'))
  const script = join(folder, 'serve.mjs')
  writeFileSync(script, program)
  const places: RoleProcess[] = []
  const gatherer = createGatherer(() => places, ['edge', 'api'])
  const parts = {
    program: { script, options: [], fds: [] },
    role: 'edge',
    env: { ...process.env, ...env },
    dotEnv: {},
    sockets: {},
    output: { write: console.error },
  }
  const log = createLog('gather', 'silent')
  let answers = 0
  const add = (label: string) => {
    const giveUp = new AbortController().signal
    const onMessage = (message: FromChild) => {
      if (message.type !== 'report') return
      gatherer.received(message.id, message.report)
      answers += 1
    }
    places.push(startRoleProcess({ ...parts, label, log, giveUp, onMessage }))
  }
  for (let n = 0; n < count; n += 1) add(`edge ${n}`)
  onTestFinished(async () => {
    await Promise.all(places.map((place) => place.stop(AbortSignal.abort())))
    rmSync(folder, { recursive: true })
  })
  const read = async () => {
    const reports = await gatherer.gather()
    const text = await AggregatorRegistry.aggregate(reports.map(({ metrics }) => metrics as MetricObject[])).metrics()
    const numberOf = (name: string) => Number(new RegExp(`^${name}(?:\\{.*\\})? (.*)$`, 'm').exec(text)?.[1])
    return { requests: numberOf('requests_total'), connections: numberOf('connections') }
  }
  return { places, add, read, gather: gatherer.gather, answers: () => answers }
}

test('what processes have counted stays in the sum when they end or are replaced, and what they hold does not', async () => {
  const { places, read } = startPlaces(2)
  await Promise.all(places.map(({ firstReady }) => firstReady))
  for (const requests of [10, 20]) expect(await read()).toEqual({ requests, connections: 6 })
  expect(await places[0]!.replace({})).toEqual({ kind: 'replaced' })
  await expect.poll(places[0]!.leaving).toEqual([])
  expect(await read()).toEqual({ requests: 30, connections: 6 })
  places[0]!.current()!.signal('SIGKILL')
  await expect.poll(() => places[0]!.current()).toBeUndefined()
  expect(await read()).toEqual({ requests: 35, connections: 3 })
  await expect.poll(() => places[0]!.isReady()).toBe(true)
  expect(await read()).toEqual({ requests: 45, connections: 6 })
})

test('a place that is given up, and made again since the release that was to take over failed, goes on from what it has counted', async () => {
  const { places, add, read } = startPlaces(1)
  await places[0]!.firstReady
  expect(await read()).toEqual({ requests: 5, connections: 3 })
  await places.pop()!.stop(AbortSignal.abort())
  add('edge 0')
  await places[0]!.firstReady
  expect(await read()).toEqual({ requests: 10, connections: 3 })
})

test('one that still drains is in the sum with what it counts and holds', async () => {
  const { places, read } = startPlaces(1, SERVE, { DRAIN_MS: '60000' })
  await places[0]!.firstReady
  await read()
  expect(await places[0]!.replace({})).toEqual({ kind: 'replaced' })
  await expect.poll(async () => (await read()).connections).toBe(6)
  const { requests } = await read()
  expect(requests).toBeGreaterThanOrEqual(20)
  const [former] = places[0]!.leaving()
  former!.signal('SIGSTOP')
  expect(await read()).toEqual({ requests: requests + 5, connections: 3 })
  former!.signal('SIGKILL')
  await expect.poll(places[0]!.leaving).toEqual([])
  expect(await read()).toEqual({ requests: requests + 10, connections: 3 })
})

test('one that ends while another is still asked counts once', async () => {
  const { places, read, answers } = startPlaces(1, SERVE, { DRAIN_MS: '60000' })
  await places[0]!.firstReady
  expect(await places[0]!.replace({})).toEqual({ kind: 'replaced' })
  await expect.poll(places[0]!.leaving).toHaveLength(1)
  const { requests } = await read()
  places[0]!.leaving()[0]!.signal('SIGSTOP')
  const before = answers()
  const reading = read()
  await expect.poll(answers).toBe(before + 1)
  const sitting = places[0]!.current()!
  sitting.signal('SIGKILL')
  await sitting.ended
  const met = await reading
  expect(met.requests).toBeGreaterThanOrEqual(requests)
  expect(met.requests).toBeLessThanOrEqual(requests + 5)
})

test('however often a process is asked, no more waits for its end', async () => {
  const ended = new Promise<never>(() => {})
  const waiting = vi.spyOn(ended, 'then')
  const report = { role: 'edge', pid: 1, ready: true, details: {}, metrics: [] }
  const send = (message: ToChild) => void setImmediate(() => 'id' in message && gatherer.received(message.id, report))
  const child = { pid: 1, ended, send } as unknown as Child
  const place = { role: 'edge', current: () => child, isTakingOver: () => false, leaving: () => [] } as unknown as RoleProcess
  const gatherer = createGatherer(() => [place], ['edge'])
  for (let n = 0; n < 100; n += 1) expect(await gatherer.gather()).toMatchObject([{ ready: true }])
  expect(waiting.mock.calls.length).toBeLessThanOrEqual(2)
})

test('a process that does not answer in time is in the sum with what it said last', async () => {
  const { places, read } = startPlaces(2)
  await Promise.all(places.map(({ firstReady }) => firstReady))
  await read()
  places[1]!.current()!.signal('SIGSTOP')
  expect(await read()).toEqual({ requests: 15, connections: 3 })
})

test('who asks about one role waits for no other', async () => {
  const { places, gather } = startPlaces(1)
  await places[0]!.firstReady
  expect(await gather('edge')).toMatchObject([{ role: 'edge', ready: true }])
  places[0]!.current()!.signal('SIGSTOP')
  const askedAt = performance.now()
  expect(await gather('api')).toMatchObject([{ role: 'api', ready: false, details: { state: 'not started yet' } }])
  expect(performance.now() - askedAt).toBeLessThan(1_000)
})

test('one that waits for what its predecessor holds counts as that did until it serves', async () => {
  const { places, gather } = startPlaces(1, TAKE_OVER)
  const [place] = places
  const reports = async () => gather('edge').then(([report]) => report!)
  expect(await reports()).toMatchObject({ ready: false }) // the first has no predecessor
  await place!.firstReady
  const former = place!.current()!.pid
  let replaced = false
  const replacing = place!.replace({}).finally(() => {
    replaced = true
  })
  const seen = new Set<number>()
  while (!replaced) {
    const { pid, ready } = await reports()
    expect({ pid, ready }).toEqual({ pid, ready: true })
    if (!place!.isReady()) seen.add(pid)
  }
  expect(await replacing).toEqual({ kind: 'replaced' })
  expect([...seen].filter((pid) => pid !== former)).toHaveLength(1)
})
