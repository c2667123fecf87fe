import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Hostname } from '../hostname.ts'
import { createCatchUp } from './catch-up.ts'
import { certificateOf, cursorAt, pagesOf, projectOf, routeOf, shop, snapshotOf, temporaryFolder } from './copy.fixture.ts'
import type { CopySource } from './copy-source.ts'
import { type CopyWriter, openCopyWriter } from './copy-writer.ts'
import type { RouteRow } from './rows.ts'

let place: ReturnType<typeof temporaryFolder>
let writer: CopyWriter
beforeEach(() => {
  place = temporaryFolder()
  writer = openCopyWriter(place.path, { metadata: true, hostnamesMax: 2 })
})
afterEach(() => {
  writer.close()
  place.remove()
})

const use = (hostname: Hostname, usedAtMs: number) =>
  writer.apply({ routes: [routeOf(hostname)], certificates: [certificateOf(hostname)], known: [{ hostname, usedAtMs }] })
const certificates = () => writer.totals(0)?.certificates

test('what was loaded of a name that left the copy meanwhile stays out of it: nobody would say when that is no longer so', async () => {
  await writer.replaceAll(snapshotOf([]))
  for (const number of [1, 2, 3]) use(shop(number), number)
  writer.apply({ routes: [routeOf(shop(1), { version: 2 })], certificates: [certificateOf(shop(1)), certificateOf(shop(2))] })
  expect([writer.findRoute(shop(1)), certificates()]).toEqual([undefined, 2])
})

test('a name that goes takes its certificate along, also where the news of that comes later', async () => {
  await writer.replaceAll(snapshotOf([]))
  for (const number of [1, 2]) use(shop(number), number)
  writer.apply({ removed: [shop(1)] })
  expect([writer.known([shop(1)]), certificates()]).toEqual([[], 1])
})

test('a promoted standby may lack what was looked up, though the feed had not come as far: it is loaded again', async () => {
  const rows: RouteRow[] = [routeOf(shop(1))]
  const steps: Awaited<ReturnType<CopySource['readChanges']>>[] = [
    { changes: [], cursor: cursorAt(0), lsn: '0/1' },
    { kind: 'promoted', epoch: 'two', sharedLsn: '0/1' },
    { changes: [], cursor: cursorAt(0, 'two'), lsn: '0/2' },
  ]
  const find = async (names: Hostname[]) => rows.filter(({ hostname }) => names.includes(hostname))
  const source = {
    currentCursor: async () => cursorAt(0),
    readChanges: async () => steps.shift()!,
    loadRoutes: find,
    loadCertificates: async () => [],
    eachRoutePage: () => pagesOf(rows),
    eachProjectPage: () => pagesOf([projectOf()]),
    eachCertificatePage: () => pagesOf(),
    loadChallenges: async () => [],
  } as Partial<CopySource> as CopySource
  const seen: unknown[] = []
  const { signal } = new AbortController()
  const on = { onChanged() {}, onReplaced() {}, onSeen: (names: unknown) => void seen.push(names) }
  const catchUp = createCatchUp({ source, writer, settingNames: [], now: Date.now, signal, ...on })
  await catchUp.run()
  expect(seen.splice(0)).toEqual(['all'])
  use(shop(2), 2)
  catchUp.lookedUp([shop(2)])
  await catchUp.run()
  expect(steps).toEqual([])
  expect(seen).toEqual(['all', [shop(2), shop(2)]]) // what is being looked up begins again
  expect([writer.findRoute(shop(1)) !== undefined, writer.findRoute(shop(2)), certificates()]).toEqual([true, undefined, 0])
})
