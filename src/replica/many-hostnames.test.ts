import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Hostname } from '../hostname.ts'
import { certificateOf, routeOf, shop, snapshotOf, temporaryFolder } from './copy.fixture.ts'
import { openCopyReader } from './copy-reader.ts'
import { type CopyWriter, openCopyWriter } from './copy-writer.ts'
import type { CertificateRow, RouteRow } from './rows.ts'

// Processor time of this thread, not time on a clock: what else the machine does is no business of these tests.

const FEW = 1_000
const MANY = 50_000
const PAGE = 1_000
const LOOKUPS = 10_000

let undo: (() => void)[]
beforeEach(() => {
  undo = []
})
afterEach(() => {
  for (const action of undo.reverse()) action()
})

test('a look-up takes about as long among 50,000 hostnames as among 1,000, for claimed and unclaimed ones and certificates', async () => {
  const few = await lookUpAmong(FEW)
  const many = await lookUpAmong(MANY)
  for (const kind of ['route', 'miss', 'certificate'] as const) expect(many[kind] / few[kind], kind).toBeLessThan(5)
})

test('no step of building a copy of 50,000 hostnames holds up the process for more than a tenth of it', async () => {
  const { writer } = openPlace()
  const turns = watchTurns()
  await writer.replaceAll(population(MANY))
  const { longestMs, totalMs } = turns.end()
  expect(longestMs / totalMs).toBeLessThan(0.1)
})

test('claims are applied to a copy of 50,000 hostnames about as fast as to one of 1,000', async () => {
  const batchMs = async (hostnames: number): Promise<number> => {
    const { writer } = openPlace()
    await writer.replaceAll(population(hostnames))
    const batches = Array.from({ length: 40 }, (_, batch) =>
      Array.from({ length: 200 }, (_, n) => routeOf(spread(MANY + batch * 200 + n), { version: 2 })),
    )
    const before = usedMs()
    for (const routes of batches) writer.apply({ routes })
    return usedMs() - before
  }
  const few = await batchMs(FEW)
  expect((await batchMs(MANY)) / few).toBeLessThan(5)
})

async function lookUpAmong(hostnames: number): Promise<Record<'route' | 'miss' | 'certificate', number>> {
  const { writer, path } = openPlace()
  await writer.replaceAll(population(hostnames))
  const reader = openCopyReader(path)
  undo.push(reader.close)
  const drawn = Array.from({ length: LOOKUPS }, (_, n) => spread((n * 7_919) % hostnames))
  const time = (finds: (hostname: Hostname) => boolean): number => {
    const rounds = Array.from({ length: 3 }, () => {
      const before = usedMs()
      expect(drawn.every(finds)).toBe(true)
      return usedMs() - before
    })
    return Math.min(...rounds)
  }
  return {
    route: time((hostname) => reader.findRoute(hostname)?.hostname === hostname),
    miss: time((hostname) => reader.findRoute(`www.${hostname}` as Hostname) === undefined),
    certificate: time((hostname) => reader.findCertificate(hostname)?.hostname === hostname),
  }
}

function openPlace(): { writer: CopyWriter; path: string } {
  const { path, remove } = temporaryFolder()
  const writer = openCopyWriter(path)
  undo.push(remove, writer.close)
  return { writer, path }
}

/** Neighbours in number are none by name. */
function spread(n: number): Hostname {
  return shop((n * 7_654_321) % 10_000_000)
}

function population(hostnames: number) {
  const names = Array.from({ length: hostnames }, (_, n) => spread(n)).sort()
  const chainPem = 'a chain of some length '.repeat(80)
  return snapshotOf([], {
    routes: pages<RouteRow>(names, (hostname) => routeOf(hostname)),
    certificates: pages<CertificateRow>(names, (hostname) => certificateOf(hostname, { chainPem })),
  })
}

/** Each in a turn of the event loop, as they come from a database. */
async function* pages<Row>(names: Hostname[], row: (hostname: Hostname) => Row): AsyncIterable<Row[]> {
  for (let at = 0; at < names.length; at += PAGE) {
    yield names.slice(at, at + PAGE).map(row)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** What each turn of the event loop costs, until `end`. */
function watchTurns(): { end(): { longestMs: number; totalMs: number } } {
  const startedAt = usedMs()
  let last = startedAt
  let longestMs = 0
  let ended = false
  const turn = () => {
    const now = usedMs()
    longestMs = Math.max(longestMs, now - last)
    last = now
    if (!ended) setImmediate(turn)
  }
  setImmediate(turn)
  return {
    end() {
      turn()
      ended = true
      return { longestMs, totalMs: usedMs() - startedAt }
    },
  }
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
