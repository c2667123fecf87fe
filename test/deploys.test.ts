import { execFile } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { type ClientHttp2Session, constants } from 'node:http2'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pause } from '../src/lib/back-off.ts'
import { isRunning } from '../src/processes.ts'
import { API_RESTS_MS, askKept, EDGE_RESTS_MS } from './support/kept-connection.ts'
import { type Load, startLoad } from './support/load.ts'
import { openHttp2, requestHttp2 } from './support/raw-visitor.ts'
import { addVendor, eventually, localRoot, processesOf, startTree, type Tree, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { visit } from './support/visitor.ts'

const PROJECT = fileURLToPath(new URL('../', import.meta.url))
const HOSTNAME = 'shop.localhost'
const ANSWERS_BEFORE_MORE = 50
const LEISURE_MS = 400
const BREATH_MS = 20
const HALF_STARTED = ['starting', 'not started yet']

let folder: string
let tree: Tree
let upstream: Upstream
let vendor: Vendor
let root: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'namesake-deploys-'))
  symlinkSync(PROJECT, join(folder, 'current'))
  upstream = await startUpstream()
  tree = await startTree({ launcher: join(folder, 'current/bin/namesake'), env: { NAMESAKE_ACCESS_LOG_SAMPLE: '0' } })
  root = localRoot(tree)
  vendor = await addVendor(tree, 'shop', upstream.url)
  await vendor.claim(HOSTNAME)
  await eventually(async () => (await visit(at())).status === 200, 60_000)
})

afterAll(async () => {
  await tree?.stop()
  await upstream?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test.each(['reload', 'upgrade'])('while %s replaces every process, neither a visitor nor a vendor loses a request', async (kind) => {
  const ends: (() => void)[] = []
  const load = startLoad(everybody(ends))
  await more(load)
  const former = new Set((await processesOf(tree)).map(({ pid }) => pid))
  const pid = tree.process.pid!
  const outcome = await tree.command<{ state: string; sentence: string }>(kind)
  expect(outcome).toMatchObject({ kind, state: 'done' })
  const present = await processesOf(tree)
  expect(present.map(({ role }) => role).sort()).toEqual(['api', 'edge', 'edge', 'follower', 'worker'])
  expect(present.filter((one) => former.has(one.pid))).toEqual([])
  await eventually(() => ![...former].some(isRunning), 40_000)
  expect(isRunning(pid)).toBe(true)
  await more(load)
  await load.stop()
  for (const end of ends) end()
  expect(load.lost).toEqual([])
})

test('a release that cannot start leaves the present one serving, and upgrade says why and fails', async () => {
  const broken = join(folder, 'next')
  symlinkSync(join(folder, 'nowhere'), broken)
  renameSync(broken, join(folder, 'current'))
  const before = await processesOf(tree)
  const launcher = join(PROJECT, 'bin/namesake')
  const failed = await promisify(execFile)(launcher, ['upgrade', '--json'], { env: { ...process.env, ...tree.env } }).catch(
    (error: unknown) => error,
  )
  expect(failed).toMatchObject({ code: 1 })
  expect(JSON.parse((failed as { stdout: string }).stdout)).toMatchObject({
    state: 'failed',
    sentence: expect.stringMatching(/did not come up: .*ENOENT/),
  })
  expect((await processesOf(tree)).map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid))
  expect((await visit(at())).status).toBe(200)
})

test.each(['starting ', 'the new processes are up'])('a stop in an upgrade that has said %j ends the database, too', async (said) => {
  const other = await startTree()
  const before = other.pids()
  other.process.kill('SIGUSR2')
  await eventually(() => other.output().includes(`upgrade: ${said}`), 60_000)
  const all = [...before, ...other.pids()]
  expect(await other.stop()).toBe(0)
  expect(all.filter(isRunning)).toEqual([])
})

const at = () => ({ port: tree.httpsPort, hostname: HOSTNAME, ca: root, path: '/' })

async function more(load: Load): Promise<void> {
  const before = load.answered()
  await eventually(() => load.answered() >= before + ANSWERS_BEFORE_MORE || load.lost.length > 0, 60_000)
}

/** Monitoring, visitors of both protocols, and vendors who keep their connection to the API. No lane repeats what may have been read, but for what askKept says. */
function everybody(ends: (() => void)[]): Record<string, () => Promise<unknown>> {
  const lanes: Record<string, () => Promise<unknown>> = {
    monitoring: async () => {
      const answer = await fetch(`${tree.internalUrl}/ready`, { headers: { connection: 'close' } })
      const { processes } = (await answer.json()) as { processes: { role: string; ready: boolean; state?: string }[] }
      const half = processes.filter(({ ready, state }) => !ready && HALF_STARTED.includes(state ?? ''))
      if (half.length > 0) throw new Error(`not all has been started of what was asked: ${JSON.stringify(half)}`)
      await pause(BREATH_MS)
    },
    'new connection': async () => {
      expectStatus(200, (await visit(at())).status)
      await pause(BREATH_MS)
    },
  }
  for (const leisureMs of [BREATH_MS, LEISURE_MS]) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    ends.push(() => agent.destroy())
    lanes[`kept connection, at leisure ${leisureMs} ms`] = async () => {
      const target = { host: '127.0.0.1', port: tree.httpsPort, servername: HOSTNAME, ca: root, agent, headers: { host: HOSTNAME } }
      expectStatus(200, (await askKept(agent, EDGE_RESTS_MS, () => request(target))).status)
      await pause(Math.random() * leisureMs)
    }
    const callers = new HttpAgent({ keepAlive: true, maxSockets: 1 })
    ends.push(() => callers.destroy())
    let claims = 0
    const call = async (method: string, path: string, body?: object) => {
      const sent = body && JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${vendor.token}`,
        ...(sent && { 'content-type': 'application/json', 'content-length': sent.length }),
      }
      const begin = () => httpRequest(`${tree.apiUrl}${path}`, { agent: callers, method, headers })
      return (await askKept(callers, API_RESTS_MS, begin, sent)).status
    }
    lanes[`vendor, at leisure ${leisureMs} ms`] = async () => {
      claims += 1
      const hostname = `claim-${leisureMs}-${claims}-${process.pid}.localhost`
      expectStatus(200, await call('POST', '/v1/edge/domains', { hostname }))
      await pause(Math.random() * leisureMs)
      expectStatus(200, await call('GET', `/v1/edge/resolve?hostname=${hostname}`))
      await pause(Math.random() * leisureMs)
    }
  }
  let session: ClientHttp2Session | undefined
  ends.push(() => session?.destroy())
  const open = async () => {
    if (!session || session.closed || session.destroyed) session = await openHttp2({ port: tree.httpsPort, hostname: HOSTNAME, ca: root })
    return session
  }
  lanes['HTTP/2 session'] = async () => {
    const ask = async () => requestHttp2(await open(), { ':path': '/' })
    // A refused stream was not read: clients send it again, on the next session (RFC 9113 §8.7).
    const answer = await ask().catch((error: { rstCode?: number }) =>
      error.rstCode === constants.NGHTTP2_REFUSED_STREAM ? ask() : Promise.reject(error as Error),
    )
    expectStatus(200, answer.headers[':status'])
    await pause(BREATH_MS)
  }
  return lanes
}

function expectStatus(wanted: number, status: unknown): void {
  if (status !== wanted) throw new Error(`status ${String(status)}`)
}
