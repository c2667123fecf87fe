import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import { addVendor, startTree, type Tree } from './support/tree.ts'
import { knock, recordClientHello, renamed } from './support/visitor.ts'

const HELD = 100 // by the copy, at most
const HOSTNAMES = Array.from({ length: 300 }, (_, n) => `shop${n}.localhost`)
const VISITED = 60
const VISITS_EVERY_MS = 50
const CALLERS = 8
const SCANNER = '127.0.0.2'
const VISITOR = '127.0.0.3'

let database: TestDatabase
let tree: Tree

beforeAll(async () => {
  database = await createTestDatabase()
  tree = await startTree({
    env: {
      NAMESAKE_DATABASE_URL: database.url,
      NAMESAKE_SECRET: 'a secret for guessed names of 32 bytes or more',
      NAMESAKE_COPY_HOSTNAMES_MAX: String(HELD),
      NAMESAKE_EDGE_WORKERS: '2',
    },
  })
  const vendor = await addVendor(tree, 'shop', 'https://app.vendor.test')
  for (const hostname of HOSTNAMES) await vendor.claim(hostname)
})

afterAll(async () => {
  await tree?.stop()
  await database?.drop()
})

test('where the copy is bounded, who guesses thousands of names shuts nobody out of those that it does not hold', async () => {
  const hello = await recordClientHello('guess00000.localhost')
  let isOver = false
  let guesses = 0
  const guess = async () => {
    while (!isOver) {
      guesses += 1
      const label = String(guesses).padStart(5, '0')
      if (guesses % 2 === 0) await knock(tree.httpsPort, renamed(hello, '00000', label), SCANNER)
      else await statusAtPort80(`guess${label}.localhost`, SCANNER)
    }
  }
  const scanner = Promise.all(Array.from({ length: CALLERS }, guess))
  const statuses: number[] = []
  for (const hostname of HOSTNAMES.slice(-VISITED)) {
    await new Promise((resolve) => setTimeout(resolve, VISITS_EVERY_MS))
    statuses.push(await statusAtPort80(hostname, VISITOR))
  }
  isOver = true
  await scanner
  expect(guesses).toBeGreaterThan(VISITED * 5)
  expect(statuses).toEqual(Array.from({ length: VISITED }, () => 308))
})

function statusAtPort80(hostname: string, localAddress: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port: tree.httpPort, localAddress, headers: { host: hostname }, agent: false } as const
    const sent = request(to, (answer) => {
      answer.resume()
      resolve(answer.statusCode!)
    })
    sent.on('error', reject)
    sent.end()
  })
}
