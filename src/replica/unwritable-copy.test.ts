import { rmSync, symlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { certificateOf, foundRoute, pagesOf, routeOf, shop, snapshotOf, temporaryFolder } from './copy.fixture.ts'
import { currentGeneration } from './copy-files.ts'
import { type CopyReader, openCopyReader } from './copy-reader.ts'
import { openCopyWriter } from './copy-writer.ts'

let place: ReturnType<typeof temporaryFolder>
let file: string
let reader: CopyReader
let said: string[]

// Neither can SQLite make the file beside the copy that it needs, nor follow a link to one: as on a full disk, and for root too.
beforeEach(async () => {
  place = temporaryFolder()
  const writer = openCopyWriter(place.path)
  await writer.replaceAll(snapshotOf([routeOf(shop(1))], { certificates: pagesOf([certificateOf(shop(1))]) }))
  writer.close()
  file = currentGeneration(place.path)!
  symlinkSync('/dev/full', `${file}-shm`)
  said = []
  reader = openCopyReader(place.path, { onUnwritable: (sentence) => said.push(sentence) })
})
afterEach(() => {
  reader.close()
  place.remove()
})

const roomAgain = () => rmSync(`${file}-shm`)

function update(version: number): void {
  const writer = openCopyWriter(place.path)
  writer.apply({ routes: [routeOf(shop(1), { version }), routeOf(shop(2))] })
  writer.close()
}

test('an edge that starts on a full disk serves what its copy holds, says so once, and takes no miss for an answer', async () => {
  for (let look = 0; look < 3; look += 1) {
    expect(reader.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1))))
    await new Promise(setImmediate)
  }
  expect(reader.findCertificate(shop(1))).toEqual(certificateOf(shop(1)))
  expect(reader.state()).toEqual({ usable: true, complete: true, asOfMs: 1_000 })
  expect(reader.findRoute(shop(2))).toBeUndefined()
  expect(reader.isSound()).toBe(false)
  expect(said).toEqual([expect.stringContaining(file)])
})

test('a copy that was written since is not read as it lay', async () => {
  expect(reader.findRoute(shop(1))).toMatchObject({ version: 1 })
  roomAgain()
  update(2)
  symlinkSync('/dev/full', `${file}-shm`)
  reader.lookAgain()
  expect([reader.findRoute(shop(1)), reader.findRoute(shop(2))]).toMatchObject([{ version: 2 }, { version: 1 }])
})

test('when there is room again a copy is read as ever: each batch is seen, and a miss counts', async () => {
  expect(reader.findRoute(shop(1))).toMatchObject({ version: 1 })
  roomAgain()
  const writer = openCopyWriter(place.path)
  writer.apply({ routes: [routeOf(shop(1), { version: 2 })] })
  await expect.poll(() => reader.findRoute(shop(1))?.version).toBe(2)
  writer.apply({ routes: [routeOf(shop(1), { version: 3 })] })
  expect(reader.findRoute(shop(1))?.version).toBe(3)
  expect(reader.findRoute(shop(9))).toBeUndefined()
  await expect.poll(() => reader.isSound()).toBe(true)
  writer.close()
})
