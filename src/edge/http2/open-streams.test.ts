import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OpenStreams } from './open-streams.ts'

test('it holds what a Map would', () => {
  const step = fc.tuple(fc.boolean(), fc.nat(20))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const streams = new OpenStreams<string>()
      const map = new Map<number, string>()
      for (const [adds, id] of steps) {
        if (adds && !map.has(id)) {
          streams.add(id, `stream ${id}`)
          map.set(id, `stream ${id}`)
        } else if (!adds) {
          streams.delete(id)
          map.delete(id)
        }
        expect(streams.size).toBe(map.size)
        expect(streams.get(id)).toBe(map.get(id))
        expect([...streams.all()].sort()).toEqual([...map.values()].sort())
      }
    }),
  )
})

test('what is deleted while all are looked at is not met any more, and nothing else is passed over', () => {
  const streams = new OpenStreams<number>()
  for (const id of [1, 3, 5, 7]) streams.add(id, id)
  const met: number[] = []
  for (const id of streams.all()) {
    met.push(id)
    streams.delete(id)
    if (id === 1) streams.delete(5)
  }
  expect(met).toEqual([1, 3, 7])
  expect(streams.size).toBe(0)
})
