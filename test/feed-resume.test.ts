import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerDomain } from '../src/core/domains.ts'
import { listProjects } from '../src/core/projects.ts'
import { parseHostname } from '../src/hostname.ts'
import { signal } from '../src/processes.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import { addVendor, eventually, type ProcessState, processesOf, startTree, type Tree } from './support/tree.ts'

const SECRET = 'a secret of the resumed feed of 32 bytes or more'
const CLAIMS = 800
const KILLS = 2
const LANES = 8
const rules = {
  plans: new Map([['unlimited', 0]]),
  edgeHost: parseHostname('edge.example.com'),
  edgeIps: [],
  reserved: new Set<string>(),
  wildcards: false,
}

let database: TestDatabase
let tree: Tree

beforeAll(async () => {
  database = await createTestDatabase()
  tree = await startTree({ env: { NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET, NAMESAKE_EDGE_WORKERS: '1' } })
})

afterAll(async () => {
  await tree?.stop()
  await database?.drop()
})

const named = (number: number) => parseHostname(`r${number}.resumed.localhost`)
const follower = async () => (await processesOf(tree, 'follower'))[0] as ProcessState & { snapshots: number }

/** Port 80 redirects the names that it routes, and no others. */
function isRouted(hostname: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const sent = request({ port: tree.httpPort, host: '127.0.0.1', headers: { host: hostname }, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 308)
    })
    sent.on('error', reject).end()
  })
}

test('a follower that is killed in the middle of a batch goes on from where its copy stands, and misses nothing', async () => {
  await addVendor(tree, 'resumed', 'https://app.example.com')
  const project = (await listProjects(database.db)).find(({ slug }) => slug === 'resumed')!
  let claimed = 0
  const claiming = Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      for (let number = lane; number < CLAIMS; number += LANES) {
        await registerDomain(database.db, project, { hostname: named(number), metadataJson: '{}' }, rules)
        claimed += 1
      }
    }),
  )
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await eventually(() => claimed >= (CLAIMS * kill) / (KILLS + 1), 60_000, 1)
    const { pid } = await follower()
    signal(pid, 'SIGKILL')
    await eventually(async () => (await follower()).pid !== pid && (await follower()).ready, 60_000)
  }
  await claiming
  await eventually(() => isRouted(named(CLAIMS - 1)), 60_000)
  await eventually(async () => (await follower()).lagMs! < 2_000, 60_000)
  expect((await follower()).snapshots).toBe(0)
  const missing = []
  for (let number = 0; number < CLAIMS; number += 1) if (!(await isRouted(named(number)))) missing.push(number)
  expect(missing).toEqual([])
})
