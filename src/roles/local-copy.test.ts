import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { heapBytes } from '../../test/support/heap.ts'
import { type Hostname, parseClaimName, parseHostname } from '../hostname.ts'
import { certificateOf, foundRoute, projectOf, routeOf, shop, snapshotOf, temporaryFolder } from '../replica/copy.fixture.ts'
import { openCopyReader } from '../replica/copy-reader.ts'
import { openCopyWriter } from '../replica/copy-writer.ts'
import type { LightRoute, Route, RouteRow } from '../replica/rows.ts'
import { type CopyServer, startCopyServer } from '../replica/server.ts'
import { copyPath, followerSocket } from './copy-place.ts'
import { openLocalCopy } from './local-copy.ts'
import type { RoleContext } from './role.ts'
import { type LocalAnswer, rememberAll } from './route-memory.ts'

const HOSTNAMES = 5_000
const METADATA_BYTES = 8_000
const BYTES_EACH_MAX = 1_000

let place: ReturnType<typeof temporaryFolder>
let context: RoleContext
beforeEach(async () => {
  place = temporaryFolder()
  context = { config: { dataDir: place.folder }, runDir: place.folder } as RoleContext
  mkdirSync(dirname(copyPath(context.config)))
  const writer = openCopyWriter(copyPath(context.config))
  await writer.replaceAll(snapshotOf([], { routes: pages() }))
  writer.close()
})
afterEach(() => place.remove())

test('a process that needs no metadata remembers a hostname in less than 1 KB, however much of it there is', async () => {
  const perHostname = await bytesFor({ keep: ({ hostname, projectId, upstreamUrl }) => ({ hostname, projectId, upstreamUrl }) })
  expect(perHostname).toBeLessThan(BYTES_EACH_MAX)
})

test('a process that needs it leaves what is too heavy in the copy, and still finds it', async () => {
  const perHostname = await bytesFor({ keep: (route) => route, isLight: ({ metadataJson }) => metadataJson.length < METADATA_BYTES })
  expect(perHostname).toBeLessThan(BYTES_EACH_MAX)
})

test.each([
  ['those that were used', undefined],
  ['all of them', rememberAll],
])(
  "a project's new upstream reaches what a process remembers of its hostnames (%s) as soon as the follower tells of it, and nothing else",
  async (_, remember) => {
    const writer = openCopyWriter(copyPath(context.config))
    const server = await startServer()
    const copy = openLocalCopy<LightRoute>(context, { keep: toLight, ...(remember && { remember }) })
    const lookUp = (hostname: Hostname) => copy.findRoute(hostname) as LocalAnswer<LightRoute>
    try {
      await untilFresh(copy, server)
      const other = parseHostname('other.customer.com')
      const early = parseHostname('early.customer.com') // its project's row comes after its own
      writer.apply({
        routes: [routeOf(other, { projectId: '8' }), routeOf(early, { projectId: '9' })],
        projects: [projectOf('8', { upstreamUrl: 'https://8' })],
      })
      const remembered = lookUp(other)
      expect(lookUp(shop(1))).toMatchObject({ kind: 'route', route: { upstreamUrl: projectOf().upstreamUrl } })
      expect(lookUp(early)).toEqual({ kind: 'unknown' })
      writer.apply({ projects: [projectOf('7', { upstreamUrl: 'https://new', version: 2 }), projectOf('9')] })
      server.changed({ projects: ['7', '9'] })
      await expect.poll(() => lookUp(shop(1))).toMatchObject({ kind: 'route', route: { upstreamUrl: 'https://new' } })
      expect(lookUp(early)).toMatchObject({ kind: 'route' })
      expect(lookUp(other)).toEqual(remembered)
    } finally {
      copy.close()
      await server.stop()
      writer.close()
    }
  },
)

test.each([
  ['those that were used', undefined],
  ['all of them', rememberAll],
])('whose project goes before its claims do leaves the wildcard over them served, by a process that remembers %s', async (_, remember) => {
  const writer = openCopyWriter(copyPath(context.config))
  const server = await startServer()
  const copy = openLocalCopy<LightRoute>(context, { keep: toLight, ...(remember && { remember }) })
  const [star, own] = [parseClaimName('*.another.com'), parseHostname('a.another.com')]
  try {
    await untilFresh(copy, server)
    writer.apply({ routes: [routeOf(star), routeOf(own, { projectId: '8' })], projects: [projectOf('8')] })
    expect(copy.findRoute(own)).toMatchObject({ kind: 'route', route: { hostname: own } })
    const news = async (change: () => void) => {
      const before = copy.revision()
      change()
      await expect.poll(copy.revision).not.toBe(before)
      for (const name of [own, star]) expect(copy.findRoute(name)).toMatchObject({ kind: 'route', route: { hostname: star } })
    }
    writer.apply({ removedProjects: ['8'] })
    await news(() => server.changed({ projects: ['8'] }))
    writer.apply({ removed: [own] })
    await news(() => server.changed({ routes: [own] }))
  } finally {
    copy.close()
    await server.stop()
    writer.close()
  }
})

test('a name that comes into the copy while the follower is away is found at once, even by a process that has missed it before', async () => {
  const writer = openCopyWriter(copyPath(context.config))
  const server = await startServer()
  const copy = openLocalCopy<LightRoute>(context, { keep: toLight, remember: rememberAll })
  const late = parseHostname('late.customer.com')
  try {
    await untilFresh(copy, server)
    await server.stop()
    await expect.poll(() => copy.follower.status().connected).toBe(false)
    expect(copy.findRoute(late)).toEqual({ kind: 'unknown' })
    writer.apply({ routes: [routeOf(late)] })
    expect(copy.findRoute(late)).toMatchObject({ kind: 'route', route: { hostname: late } })
    expect(copy.isFresh()).toBe(true)
  } finally {
    copy.close()
    writer.close()
  }
})

test.each([
  ['those that were used', undefined],
  ['all of them', rememberAll],
])(
  'a route that changes in the copy while the follower is away is served as it is, by a process that remembers %s',
  async (_, remember) => {
    const writer = openCopyWriter(copyPath(context.config))
    const server = await startServer()
    const copy = openLocalCopy<LightRoute>(context, { keep: toLight, ...(remember && { remember }) })
    const lookUp = () => copy.findRoute(shop(1)) as LocalAnswer<LightRoute>
    try {
      await expect.poll(copy.revision).toBe(1) // it was heard
      await server.stop()
      await expect.poll(copy.revision).not.toBe(1)
      expect(lookUp()).toMatchObject({ kind: 'route', route: { projectId: '7' } })
      writer.apply({ routes: [routeOf(shop(1), { projectId: '8', version: 2 })], projects: [projectOf('8')] })
      expect(lookUp()).toMatchObject({ kind: 'route', route: { projectId: '8' } })
    } finally {
      copy.close()
      writer.close()
    }
  },
)

test('the revision is another one with each news and once the follower is away, and stays with what is only looked up', async () => {
  const server = await startServer()
  const copy = openLocalCopy<LightRoute>(context, { keep: toLight, remember: rememberAll })
  try {
    await untilFresh(copy, server)
    for (const change of [() => server.changed({ routes: [shop(1)] }), () => server.changed({ projects: ['7'] }), () => server.stop()]) {
      const before = copy.revision()
      for (let n = 0; n < 10; n += 1) void copy.findRoute(shop(n))
      expect(copy.revision()).toBe(before)
      await change()
      await expect.poll(copy.revision).not.toBe(before)
    }
  } finally {
    copy.close()
  }
})

test('whose certificate is asked for that a bounded copy has let go comes back with it, and asks for no look-up otherwise', async () => {
  const bounded = { ...context, config: { ...context.config, copyHostnamesMax: 2 } } as RoleContext
  const writer = openCopyWriter(copyPath(context.config), { metadata: false, hostnamesMax: 2 })
  await writer.replaceAll(snapshotOf([]))
  const bring = (hostname: Hostname, usedAtMs: number) =>
    writer.apply({ routes: [routeOf(hostname)], certificates: [certificateOf(hostname)], known: [{ hostname, usedAtMs }] })
  const lookedUp: Hostname[] = []
  const server = await startServer({
    async findRoute(hostname) {
      lookedUp.push(hostname)
      bring(hostname, 9)
      return { kind: 'route', route: foundRoute(routeOf(hostname)) }
    },
  })
  const copy = openLocalCopy<LightRoute>(bounded, { keep: toLight })
  try {
    await copy.follower.firstHeard(10_000)
    for (const number of [1, 2, 3]) bring(shop(number), number)
    expect(copy.reader.findRoute(shop(1))).toBeUndefined()
    for (const number of [1, 3]) {
      await copy.requestCertificate(shop(number))
      expect(copy.reader.findCertificate(shop(number))).toBeDefined()
    }
    expect(lookedUp).toEqual([shop(1)])
  } finally {
    copy.close()
    await server.stop()
    writer.close()
  }
})

test('a process that remembers all of a copy answers from memory alone once it has read it, and reads anew what changes', async () => {
  const writer = openCopyWriter(copyPath(context.config))
  const star = parseClaimName('*.another.com')
  writer.apply({ routes: [routeOf(star), routeOf(shop(1), { verified: false, proofNeeded: true, version: 2 })] })
  const path = copyPath(context.config)
  const reader = openCopyReader(path)
  const memory = rememberAll(reader)
  const foundIn = (hostnames: Hostname[]) => hostnames.filter((hostname) => memory.get(hostname)?.kind === 'route').length
  const all = [star, ...Array.from({ length: HOSTNAMES }, (_, n) => shop(n))]
  try {
    const expected = memory.bytes() // before it knows how many there are
    await expect.poll(() => foundIn(all)).toBe(all.length)
    await expect.poll(() => memory.bytes()).toBeLessThan(expected / 2)
    expect(memory.bytes()).toBeGreaterThan(all.length * 30)
    expect(memory.get(shop(1))).toEqual({ kind: 'route', route: toLight(reader.findRoute(shop(1))!) })
    expect(memory.get(shop(2))).toEqual({ kind: 'route', route: toLight(reader.findRoute(shop(2))!) })
    expect(memory.get(shop(HOSTNAMES))).toBeUndefined()
    memory.delete(shop(3))
    expect(memory.get(shop(3))).toBeUndefined()
    memory.forgetProjects(new Set(['8']))
    expect(foundIn(all)).toBe(all.length - 1)
    memory.forgetProjects(new Set(['7']))
    expect(foundIn(all)).toBe(0)
    memory.set({ kind: 'route', route: toLight(reader.findRoute(shop(4))!) })
    expect(foundIn(all)).toBe(all.length - 1)
    writer.apply({ removed: [shop(5)] })
    const held = memory.bytes()
    memory.clear()
    expect(foundIn(all)).toBe(0)
    expect(memory.bytes()).toBe(held) // so that nothing else gives up room for it
    await expect.poll(() => foundIn(all)).toBe(all.length - 1)
  } finally {
    memory.close()
    reader.close()
    writer.close()
  }
})

/** A follower's socket behind which nobody looks anything up, unless told otherwise. */
const startServer = (on: Partial<Parameters<typeof startCopyServer>[0]['on']> = {}) =>
  startCopyServer({
    socketPath: followerSocket(context),
    on: {
      findRoute: async () => ({ kind: 'unavailable' }),
      requestCertificate: async () => ({ kind: 'requested' }),
      visitorCame: () => {},
      ...on,
    },
  })

/** Until the process has heard that its copy is complete and current: then a miss in it is final. */
async function untilFresh(
  { follower, isFresh }: Pick<ReturnType<typeof openLocalCopy>, 'follower' | 'isFresh'>,
  server: CopyServer,
): Promise<void> {
  await follower.firstHeard(10_000)
  server.heartbeat({ lagMs: 0, complete: true, asOfMs: 1 })
  await expect.poll(isFresh).toBe(true)
}

function toLight({ metadataJson: _, createdAtMs: __, version: ___, ...light }: Route): LightRoute {
  return light
}

/** What the heap grows by when each hostname is asked for twice. */
async function bytesFor<Kept extends Pick<Route, 'hostname' | 'projectId'>>(parts: {
  keep(route: Route): Kept
  isLight?(kept: Kept): boolean
}): Promise<number> {
  const server = await startServer()
  const copy = openLocalCopy(context, parts)
  try {
    await expect.poll(copy.revision).toBe(1)
    const before = heapBytes()
    for (let n = 0; n < HOSTNAMES * 2; n += 1) {
      const hostname = shop(n % HOSTNAMES)
      expect(copy.findRoute(hostname)).toMatchObject({ kind: 'route', route: { hostname } })
    }
    return (heapBytes() - before) / HOSTNAMES
  } finally {
    copy.close()
    await server.stop()
  }
}

async function* pages(): AsyncIterable<RouteRow[]> {
  const metadataJson = JSON.stringify({ note: 'm'.repeat(METADATA_BYTES) })
  for (let at = 0; at < HOSTNAMES; at += 500) yield Array.from({ length: 500 }, (_, n) => routeOf(shop(at + n), { metadataJson }))
}
