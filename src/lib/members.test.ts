import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { Members, type Place } from './members.ts'

test('knows who has come and has not gone', () => {
  const members = new Members<string>()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => members.add(name)) as [Place<string>, Place<string>, Place<string>]
  expect(members.all()).toEqual(['a', 'b', 'c'])
  members.delete(a)
  expect(members.all()).toEqual(['c', 'b'])
  members.delete(c)
  members.add('d')
  members.delete(b)
  expect(members.all()).toEqual(['d'])
  expect(members.size).toBe(1)
})

test('whoever is asked for all of them may send some away meanwhile', () => {
  const members = new Members<string>()
  const places = ['a', 'b', 'c'].map((name) => members.add(name))
  const seen: string[] = []
  for (const member of members.all()) {
    seen.push(member)
    members.delete(places[seen.length - 1]!)
  }
  expect(seen).toEqual(['a', 'b', 'c'])
  expect(members.size).toBe(0)
})

test.skipIf(process.versions.bun !== undefined)('what has gone goes with the young objects of V8, however many come and go', () => {
  const members = new Members<number[]>()
  const places: Place<number[]>[] = []
  const comeAndGo = (count: number) => {
    for (let i = 0; i < count; i += 1) {
      places.push(members.add(new Array(1_000).fill(i)))
      if (places.length > 8) members.delete(places.shift()!)
    }
  }
  comeAndGo(100)
  collectAll() // moves what is alive among the old objects
  const before = oldBytes()
  comeAndGo(5_000)
  expect(oldBytes() - before).toBeLessThan(10_000_000) // of 40 MB; with a Set some 30
})

function collectAll(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size
}
