import { expect, test } from 'vitest'
import { shop } from './copy.fixture.ts'
import { createRecentReads } from './recent-reads.ts'

const NO_KEYS = { routes: [], certificates: [], projects: [], tokens: [], settings: [], challenges: [] }
const READ = { cursor: { epoch: 'e', xid: '1', seq: '0' }, lsn: '0/100', keys: NO_KEYS }

function createReads() {
  let nowMs = 0
  return { reads: createRecentReads(() => nowMs), after: (ms: number) => (nowMs += ms) }
}

test('what was looked up before a primary was lost is loaded again, however long the promotion takes and whoever looks up meanwhile', () => {
  const { reads, after } = createReads()
  reads.note(READ)
  reads.noteLookUp([shop(1)])
  after(70_000)
  reads.noteLookUp([shop(2)])
  expect(reads.since('0/150')?.keys.routes).toEqual([shop(1), shop(2)])
})

test('what was looked up more than a minute before the last reading is within it', () => {
  const { reads, after } = createReads()
  reads.noteLookUp([shop(1)])
  after(70_000)
  reads.note(READ)
  expect(reads.since('0/150')?.keys.routes).toEqual([])
})
