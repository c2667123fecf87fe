import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { certificateOf, cursorAt, foundRoute, pagesOf, projectOf, routeOf, shop, snapshotOf, temporaryFolder } from './copy.fixture.ts'
import { currentGeneration } from './copy-files.ts'
import { type CopyReader, openCopyReader } from './copy-reader.ts'
import { type CopyWriter, openCopyWriter } from './copy-writer.ts'

let place: ReturnType<typeof temporaryFolder>
let opened: (CopyReader | CopyWriter)[]
let child: ChildProcess | undefined

beforeEach(() => {
  place = temporaryFolder()
  opened = []
})
afterEach(() => {
  child?.kill('SIGKILL')
  for (const copy of opened) copy.close()
  place.remove()
})

const write = (): CopyWriter => keep(openCopyWriter(place.path))
const read = (onDamaged?: (sentence: string) => void): CopyReader => keep(openCopyReader(place.path, { onDamaged }))
function keep<T extends CopyReader | CopyWriter>(copy: T): T {
  opened.push(copy)
  return copy
}
const many = (count: number, version = 1) => Array.from({ length: count }, (_, number) => routeOf(shop(number), { version }))

function overwrite(file: string, from: number, bytes: number): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(bytes, 0xab), 0, bytes, from)
  closeSync(descriptor)
}

test('a reader finds nothing, and says that it is not complete, until there is a copy', async () => {
  const reader = read()
  expect(reader.findRoute(shop(1))).toBeUndefined()
  expect(reader.state()).toEqual({ usable: false, complete: false, asOfMs: 0 })
  const writer = write()
  expect(writer.state()).toEqual({ cursor: undefined, complete: false, asOfMs: 0, unfit: 'there is none yet' })
  await writer.replaceAll(snapshotOf([routeOf(shop(1))], { asOfMs: 5 }))
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1))))
  expect(reader.state()).toEqual({ usable: true, complete: true, asOfMs: 5 })
})

test('rows come back exactly as they were written', async () => {
  const writer = write()
  const settings = [{ name: 'thumbprint', value: Buffer.from([1, 0, 2]) }]
  const pending = certificateOf(shop(2), {
    state: 'pending',
    chainPem: null,
    sealedKey: null,
    notAfterMs: null,
    reason: 'slow',
    nextAttemptAtMs: 4,
  })
  await writer.replaceAll(snapshotOf([routeOf(shop(1))], { certificates: pagesOf([certificateOf(shop(1)), pending]), settings }))
  const reader = read()
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1))))
  expect(reader.findCertificate(shop(1))).toEqual(certificateOf(shop(1)))
  expect(reader.findCertificate(shop(2))).toEqual(pending)
  expect(reader.findSetting('thumbprint')).toEqual(Buffer.from([1, 0, 2]))
  expect(reader.findSetting('other')).toBeUndefined()
})

test('every reader sees a batch as soon as it is applied', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(3)))
  const readers = [read(), read(), read()]
  for (const reader of readers) expect(reader.findRoute(shop(0))?.version).toBe(1)
  writer.apply({
    routes: [routeOf(shop(0), { version: 2 })],
    removed: [shop(1)],
    settings: [{ name: 's', value: Buffer.from('x') }],
    cursor: cursorAt(2),
  })
  for (const reader of readers) {
    expect(reader.findRoute(shop(0))?.version).toBe(2)
    expect(reader.findRoute(shop(1))).toBeUndefined()
    expect(reader.findRoute(shop(2))?.version).toBe(1)
    expect(reader.findSetting('s')).toEqual(Buffer.from('x'))
  }
  writer.apply({ settings: [{ name: 's', value: undefined }] })
  expect(readers[0]!.findSetting('s')).toBeUndefined()
})

test('an older version never replaces a newer one, a repeated batch changes nothing, and a removal always holds', async () => {
  const writer = write()
  const row = routeOf(shop(0), { version: 5, metadataJson: '"new"' })
  const project = projectOf('7', { version: 5, upstreamUrl: 'https://new' })
  await writer.replaceAll(snapshotOf([row], { projects: pagesOf([project]) }))
  const reader = read()
  writer.apply({ routes: [routeOf(shop(0), { version: 4, metadataJson: '"old"' })] })
  writer.apply({ projects: [projectOf('7', { version: 4, upstreamUrl: 'https://old' })] })
  expect(reader.findRoute(shop(0))).toEqual(foundRoute(row, project))
  const batch = { routes: [routeOf(shop(0), { version: 6 })], certificates: [certificateOf(shop(0), { version: 6 })], cursor: cursorAt(6) }
  writer.apply(batch)
  writer.apply(batch)
  writer.apply({ certificates: [certificateOf(shop(0), { version: 5, state: 'failed' })] })
  expect(reader.findRoute(shop(0))?.version).toBe(6)
  expect(reader.findCertificate(shop(0))?.state).toBe('issued')
  writer.apply({ removed: [shop(0)], removedCertificates: [shop(0)] })
  expect(reader.findRoute(shop(0))).toBeUndefined()
  expect(reader.findCertificate(shop(0))).toBeUndefined()
})

test('a batch that cannot be applied whole is not applied at all', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(1)))
  const broken = { ...routeOf(shop(2)), metadataJson: null as unknown as string }
  expect(() => writer.apply({ routes: [routeOf(shop(1)), broken], cursor: cursorAt(9) })).toThrow()
  expect(read().findRoute(shop(1))).toBeUndefined()
  expect(writer.state().cursor).toEqual(cursorAt(1))
  writer.apply({ routes: [routeOf(shop(1))], cursor: cursorAt(2) })
  expect(read().findRoute(shop(1))).toBeDefined()
})

test('the cursor and the moment outlive the process', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(1)))
  writer.apply({ cursor: cursorAt(42), asOfMs: 77 })
  writer.close()
  expect(write().state()).toEqual({ cursor: cursorAt(42), complete: true, asOfMs: 77, unfit: undefined })
})

test('how much it holds is known at any time, whatever came, went or changed', async () => {
  const writer = write()
  const snapshot = snapshotOf(many(3), { certificates: pagesOf([certificateOf(shop(0)), certificateOf(shop(1), { notAfterMs: 50 })]) })
  await writer.replaceAll(snapshot)
  expect(writer.totals(100)).toEqual({ routes: 3, certificates: 2, ending: 1 })
  const without = { state: 'failed' as const, chainPem: null, sealedKey: null, notAfterMs: null, version: 2 }
  writer.apply({ routes: many(5, 2), certificates: [certificateOf(shop(1), without), certificateOf(shop(2)), certificateOf(shop(2))] })
  expect(writer.totals(100)).toEqual({ routes: 5, certificates: 2, ending: 0 })
  writer.apply({
    removed: [shop(0), shop(9)],
    removedCertificates: [shop(0), shop(1)],
    certificates: [certificateOf(shop(2), { version: 3 })],
  })
  expect(writer.totals(100)).toEqual({ routes: 4, certificates: 1, ending: 0 })
})

test('readers see the old copy whole while a snapshot loads, then the new one whole', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(10, 1)))
  const reader = read()
  const seen: (number | undefined)[] = []
  async function* pages() {
    for (let number = 5; number < 15; number += 1) {
      seen.push(reader.findRoute(shop(0))?.version, reader.findRoute(shop(14))?.version)
      yield [routeOf(shop(number), { version: 2 })]
    }
  }
  await writer.replaceAll(snapshotOf([], { routes: pages() }))
  expect(new Set(seen)).toEqual(new Set([1, undefined]))
  expect(seen.filter((version) => version === 1)).toHaveLength(10)
  expect(reader.findRoute(shop(0))).toBeUndefined()
  expect(reader.findRoute(shop(14))?.version).toBe(2)
  writer.apply({ routes: [routeOf(shop(14), { version: 3 })] })
  expect(reader.findRoute(shop(14))?.version).toBe(3)
})

test('a snapshot that breaks off leaves the old copy, and nothing on the disk', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(2)))
  const before = readdirSync(place.folder).sort()
  async function* broken() {
    yield many(1, 2)
    throw new Error('the database is gone')
  }
  await expect(writer.replaceAll(snapshotOf([], { routes: broken() }))).rejects.toThrow('the database is gone')
  expect(readdirSync(place.folder).sort()).toEqual(before)
  expect(read().findRoute(shop(1))?.version).toBe(1)
  writer.apply({ routes: [routeOf(shop(1), { version: 2 })] })
})

test('only one process writes the copy', async () => {
  const writer = write()
  expect(() => openCopyWriter(place.path)).toThrow('another process writes the copy')
  writer.close()
  expect(write().state().complete).toBe(false)
})

test('the files of the copy are closed to other users', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(1)))
  const file = currentGeneration(place.path)!
  for (const name of [file, `${file}-wal`, `${file}-shm`].filter((name) => existsSync(name))) expect(statSync(name).mode & 0o077).toBe(0)
})

test('a copy is readable with no writer alive', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(1)))
  writer.close()
  const reader = read()
  expect(reader.findRoute(shop(0))?.version).toBe(1)
  expect(reader.state().complete).toBe(true)
})

for (const task of ['apply', 'replace'] as const) {
  test(`a writer killed with -9 in the middle of "${task}" leaves a whole copy, ten times in a row`, async () => {
    for (let round = 0; round < 10; round += 1) {
      const writing = spawn(process.execPath, [fileURLToPath(new URL('./killed-writer.fixture.ts', import.meta.url)), place.path, task], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      child = writing
      let acknowledged = 0
      let lines = 0
      const wanted = task === 'apply' ? 3 + round * 7 : 1
      for await (const line of createInterface({ input: writing.stdout })) {
        lines += 1
        if (line !== 'ready') acknowledged = Number(line)
        if (lines === wanted) setTimeout(() => writing.kill('SIGKILL'), round * 3)
      }
      if (writing.exitCode === null && writing.signalCode === null) await once(writing, 'exit')
      expect(writing.signalCode).toBe('SIGKILL')

      const writer = openCopyWriter(place.path)
      const reader = openCopyReader(place.path)
      try {
        const { cursor, unfit } = writer.state()
        expect(unfit).toBeUndefined()
        const version = Number(cursor!.seq)
        expect(version).toBeGreaterThanOrEqual(acknowledged)
        for (let number = 0; number < 50; number += 1) expect(reader.findRoute(shop(number))?.version).toBe(version)
        expect(await writer.check()).toEqual({ kind: 'sound' })
        const generations = readdirSync(place.folder).filter((name) => /\.[0-9a-f]{16}$/.test(name))
        expect(generations).toHaveLength(1)
      } finally {
        reader.close()
        writer.close()
      }
    }
  })
}

test('a file that is no database is replaced by the next snapshot and kept aside', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(5)))
  writer.close()
  writeFileSync(currentGeneration(place.path)!, 'not a database at all'.repeat(1_000))
  const damaged: string[] = []
  const reader = read((sentence) => damaged.push(sentence))
  expect(reader.findRoute(shop(1))).toBeUndefined()
  expect(reader.findRoute(shop(2))).toBeUndefined()
  expect(reader.state().complete).toBe(false)
  expect(damaged).toHaveLength(1)

  const second = write()
  expect(second.state()).toMatchObject({ cursor: undefined, complete: false, unfit: expect.stringContaining('file is not a database') })
  await second.replaceAll(snapshotOf(many(5, 2)))
  expect(reader.findRoute(shop(1))?.version).toBe(2)
  expect(reader.state().complete).toBe(true)
  expect(existsSync(`${place.path}.damaged`)).toBe(true)
})

test('a file that was cut short is noticed at open', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(5_000)))
  writer.close()
  const file = currentGeneration(place.path)!
  truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096)
  expect(write().state()).toMatchObject({ cursor: undefined, complete: false })
})

test('damage in the middle is found by the check, the undamaged part goes on being served, and a snapshot heals it', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(5_000)))
  writer.close()
  const file = currentGeneration(place.path)!
  for (let page = 30; page < 50; page += 1) overwrite(file, page * 4096, 300)

  const second = write()
  const damaged: string[] = []
  const reader = read((sentence) => damaged.push(sentence))
  expect(second.state().complete).toBe(true)
  const found = many(5_000).filter(({ hostname }) => reader.findRoute(hostname)?.hostname === hostname).length
  expect(found).toBeGreaterThan(1_000)
  expect(found).toBeLessThan(5_000)
  expect(damaged).toHaveLength(1)
  expect(reader.state().complete).toBe(false)
  expect(await second.check()).toMatchObject({ kind: 'damaged' })
  expect(second.state()).toMatchObject({ cursor: undefined, complete: false, unfit: expect.stringContaining('damaged') })

  await second.replaceAll(snapshotOf(many(5_000, 2)))
  expect(many(5_000).every(({ hostname }) => reader.findRoute(hostname)?.version === 2)).toBe(true)
  expect(reader.state().complete).toBe(true)
  expect(await second.check()).toEqual({ kind: 'sound' })
})

test('a copy of another version is rebuilt', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf(many(2)))
  writer.close()
  const db = new DatabaseSync(currentGeneration(place.path)!)
  db.exec('pragma user_version = 999')
  db.close()
  const reader = read()
  expect(reader.findRoute(shop(1))).toBeUndefined()
  const second = write()
  expect(second.state()).toMatchObject({ cursor: undefined, unfit: expect.stringContaining('version 999') })
  await second.replaceAll(snapshotOf(many(2, 3)))
  expect(reader.findRoute(shop(1))?.version).toBe(3)
  expect(readdirSync(place.folder).filter((name) => name.includes('damaged'))).toEqual([])
})

test('opening takes as long with 100,000 routes as with a hundred', async () => {
  const prepare = async (count: number) => {
    const { path, remove } = temporaryFolder()
    const writer = openCopyWriter(path)
    await writer.replaceAll(snapshotOf(many(count)))
    writer.close()
    return { count, path, remove, fastestMs: Number.POSITIVE_INFINITY }
  }
  const [few, all] = [await prepare(100), await prepare(100_000)]
  for (let round = 0; round < 20; round += 1)
    for (const place of [few, all]) {
      const startedAt = performance.now()
      const again = openCopyWriter(place.path)
      const reader = openCopyReader(place.path)
      expect(reader.findRoute(shop(place.count - 1))).toBeDefined()
      place.fastestMs = Math.min(place.fastestMs, performance.now() - startedAt)
      reader.close()
      again.close()
    }
  for (const { remove } of [few, all]) remove()
  expect(all.fastestMs / few.fastestMs).toBeLessThan(4)
})

test('what a later release wrote takes no place: a reader goes on with the copy that it has, and takes its misses for no answer', async () => {
  const writer = write()
  await writer.replaceAll(snapshotOf([routeOf(shop(1))]))
  let late = 0
  const reader = openCopyReader(place.path, { onLate: () => (late += 1) })
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1))))
  await writer.replaceAll(snapshotOf([routeOf(shop(2))]))
  const later = new DatabaseSync(currentGeneration(place.path)!)
  later.exec('pragma user_version = 99')
  later.close()
  expect(reader.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1))))
  expect([reader.isSound(), late]).toEqual([false, 0])
  await writer.replaceAll(snapshotOf([routeOf(shop(3))]))
  expect([reader.findRoute(shop(1)), reader.findRoute(shop(3))]).toEqual([undefined, foundRoute(routeOf(shop(3)))])
  expect([reader.isSound(), late]).toEqual([true, 1]) // whoever remembers what it read since has to forget it
  await writer.replaceAll(snapshotOf([routeOf(shop(4))]))
  expect(reader.findRoute(shop(4))).toBeDefined()
  expect(late).toBe(1)
  reader.close()
})
