import { expect, test } from 'vitest'
import { milliseconds } from '../../test/support/costs.ts'
import { RequestFields } from './forwarded-request.ts'

const fieldsWith = (cdnLoop: string) => {
  const fields = new RequestFields()
  fields.note('cdn-loop', cdnLoop)
  return fields
}

test.each([
  ['namesake', true],
  ['NameSake', true],
  ['other, namesake', true],
  ['other,\tnamesake ; id="x", third', true],
  ['namesake, other', true],
  ['', false],
  ['other', false],
  ['namesakes', false],
  ['my-namesake', false],
  ['other; by="x namesake"', false],
  ['other namesake', false],
])('CDN-Loop: %s says that the request was here before: %s', (cdnLoop, hasLooped) => {
  expect(fieldsWith(cdnLoop).hasLooped).toBe(hasLooped)
})

test('thousands of members cost little: HPACK can say them in a few bytes, again and again', () => {
  const letters = fieldsWith('a'.repeat(28_000))
  for (const text of ['a,', ' ,', 'namesake  x,']) {
    const members = fieldsWith(text.repeat(28_000 / text.length))
    const many = (fields: RequestFields) => milliseconds(() => Array.from({ length: 50 }, () => fields.hasLooped))
    many(members)
    expect(many(members), text).toBeLessThan(10 * many(letters) + 25)
  }
})
