import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Hostname } from '../hostname.ts'
import { routeOf, shop, snapshotOf, temporaryFolder } from '../replica/copy.fixture.ts'
import { openCopyWriter } from '../replica/copy-writer.ts'
import type { RouteRow } from '../replica/rows.ts'
import { copyPath } from './copy-place.ts'
import { openLocalCopy } from './local-copy.ts'
import type { RoleContext } from './role.ts'

const HOSTNAMES = 5_000
const METADATA_BYTES = 8_000
const BYTES_EACH_MAX = 1_000

let place: ReturnType<typeof temporaryFolder>
let context: RoleContext
beforeEach(async () => {
  place = temporaryFolder()
  context = { config: { dataDir: place.folder }, runDir: place.folder } as RoleContext // nobody follows here: the copy is all there is
  mkdirSync(dirname(copyPath(context.config)))
  const writer = openCopyWriter(copyPath(context.config))
  await writer.replaceAll(snapshotOf([], { routes: pages() }))
  writer.close()
})
afterEach(() => place.remove())

test('a process that needs no metadata remembers a hostname in less than 1 KB, however much of it there is', () => {
  const perHostname = bytesFor({ keep: ({ hostname, upstreamUrl }) => ({ hostname, upstreamUrl }) })
  expect(perHostname).toBeLessThan(BYTES_EACH_MAX)
})

test('a process that needs it leaves what is too heavy in the copy, and still finds it', () => {
  const perHostname = bytesFor({ keep: (route) => route, isLight: ({ metadataJson }) => metadataJson.length < METADATA_BYTES })
  expect(perHostname).toBeLessThan(BYTES_EACH_MAX)
})

/** What the heap grows by when each hostname is asked for twice. */
function bytesFor<Kept extends { hostname: Hostname }>(parts: { keep(route: RouteRow): Kept; isLight?(kept: Kept): boolean }): number {
  const copy = openLocalCopy(context, parts)
  try {
    const before = heapBytes()
    for (let n = 0; n < HOSTNAMES * 2; n += 1) {
      const hostname = shop(n % HOSTNAMES)
      expect(copy.findRoute(hostname)).toMatchObject({ kind: 'route', route: { hostname } })
    }
    return (heapBytes() - before) / HOSTNAMES
  } finally {
    copy.close()
  }
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

async function* pages(): AsyncIterable<RouteRow[]> {
  const metadataJson = JSON.stringify({ note: 'm'.repeat(METADATA_BYTES) })
  for (let at = 0; at < HOSTNAMES; at += 500) yield Array.from({ length: 500 }, (_, n) => routeOf(shop(at + n), { metadataJson }))
}
