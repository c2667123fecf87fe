import { expect, test } from 'vitest'
import { createRequestIds } from './request-ids.ts'

test('ids are random UUIDs of version 4, and none comes twice', () => {
  const next = createRequestIds()
  const ids = Array.from({ length: 1_000 }, next)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(ids.length)
})
