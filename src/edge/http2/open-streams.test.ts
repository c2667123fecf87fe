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
        expect(streams.all().sort()).toEqual([...map.values()].sort())
      }
    }),
  )
})
