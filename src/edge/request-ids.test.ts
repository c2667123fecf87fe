import { expect, test } from 'vitest'
import { createRequestIds } from './request-ids.ts'

test('ids are random UUIDs of version 4, and none comes twice', () => {
  const next = createRequestIds()
  const ids = Array.from({ length: 1_000 }, () => String(next()))
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(ids.length)
})

test('an id is the same text however often it is asked for, and whatever has been made since', () => {
  const next = createRequestIds()
  const id = next()
  const text = String(id)
  for (let i = 0; i < 1_000; i += 1) next()
  expect(String(id)).toBe(text)
  expect(id.bytes.toString('latin1', id.at, id.end)).toBe(text)
})
