import { afterEach, beforeEach, expect, test } from 'vitest'
import { wildcardOver } from '../hostname.ts'
import { foundRoute, pagesOf, projectOf, routeOf, shop, snapshotOf, temporaryFolder } from './copy.fixture.ts'
import { type CopyReader, openCopyReader } from './copy-reader.ts'
import { type CopyWriter, openCopyWriter } from './copy-writer.ts'

let place: ReturnType<typeof temporaryFolder>
let opened: (CopyReader | CopyWriter)[]

beforeEach(() => {
  place = temporaryFolder()
  opened = []
})
afterEach(() => {
  for (const copy of opened) copy.close()
  place.remove()
})

function keep<T extends CopyReader | CopyWriter>(copy: T): T {
  opened.push(copy)
  return copy
}
const write = (): CopyWriter => keep(openCopyWriter(place.path))
const read = (): CopyReader => keep(openCopyReader(place.path))
const many = (count: number) => Array.from({ length: count }, (_, number) => routeOf(shop(number)))

test("a project's new upstream is one row, and every reader sees it with each of the project's hostnames as soon as it is applied", async () => {
  const writer = write()
  const others = Array.from({ length: 5 }, (_, number) => routeOf(shop(100 + number), { projectId: '8' }))
  await writer.replaceAll(snapshotOf([...many(5), ...others], { projects: pagesOf([projectOf('7'), projectOf('8')]) }))
  const readers = [read(), read()]
  for (const reader of readers) for (const row of [...many(5), ...others]) expect(reader.findRoute(row.hostname)).toEqual(foundRoute(row))
  const moved = projectOf('7', { version: 2, upstreamUrl: 'http://127.0.0.1:8000', upstreamProtocol: 'h2c' })
  writer.apply({ projects: [moved] })
  for (const reader of readers) {
    for (const row of many(5)) expect(reader.findRoute(row.hostname)).toEqual(foundRoute(row, moved))
    for (const row of others) expect(reader.findRoute(row.hostname)).toEqual(foundRoute(row))
  }
  expect(writer.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1)), moved))
})

test('a hostname that changes hands leads to its new project, never to a part of both', async () => {
  const writer = write()
  const [one, two] = [projectOf('7', { upstreamUrl: 'https://one' }), projectOf('8', { slug: 'two', upstreamUrl: 'https://two' })]
  await writer.replaceAll(snapshotOf([routeOf(shop(1))], { projects: pagesOf([one, two]) }))
  const reader = read()
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1)), one))
  const taken = routeOf(shop(1), { projectId: '8', verified: false, version: 2 })
  writer.apply({ routes: [taken] })
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(taken, two))
})

test('a route whose project the copy does not hold is not found: the wildcard over it serves, as before the claim and behind it', async () => {
  const writer = write()
  const [own, wildcard] = [routeOf(shop(1), { projectId: '9' }), routeOf(wildcardOver(shop(1)))]
  await writer.replaceAll(snapshotOf([own, wildcard]))
  const reader = read()
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(wildcard))
  writer.apply({ projects: [projectOf('9')] })
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(own))
  writer.apply({ removedProjects: ['9', '7'] })
  for (const name of [shop(1), shop(2), wildcard.hostname]) expect(reader.findRoute(name)).toBeUndefined()
})

test('a project that comes again after a promotion, with a version that it had, is read as it is now', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(1)))
  const reader = read()
  for (const copy of [reader, writer]) expect(copy.findRoute(shop(0))?.upstreamUrl).toBe(projectOf().upstreamUrl)
  writer.apply({ removedProjects: ['7'], projects: [projectOf('7', { upstreamUrl: 'https://promoted' })] })
  reader.lookAgain()
  for (const copy of [reader, writer]) expect(copy.findRoute(shop(0))?.upstreamUrl).toBe('https://promoted')
})
