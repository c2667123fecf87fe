import { type ClientHttp2Session, constants, type OutgoingHttpHeaders } from 'node:http2'
import { Agent, request } from 'node:https'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { pause } from '../src/lib/back-off.ts'
import { isRunning, signal } from '../src/processes.ts'
import { askKept, EDGE_RESTS_MS } from './support/kept-connection.ts'
import { type Load, startLoad } from './support/load.ts'
import { type Http2Answer, openHttp2, requestHttp2 } from './support/raw-visitor.ts'
import { addVendor, eventually, localRoot, processesOf, startTree, type Tree } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { visit } from './support/visitor.ts'

const HOSTNAME = 'shop.localhost'
const ANSWER_BYTES = 20_000
const DRIP_MS = 200
const DRIPS = 10
const SETTLE_ANSWERS = 300

let tree: Tree
let upstream: Upstream
let root: string

beforeAll(async () => {
  upstream = await startUpstream({
    handle(incoming, response) {
      if (incoming.url !== '/slow') return false
      let left = DRIPS
      const timer = setInterval(() => {
        left -= 1
        if (left > 0) return void response.write('drip')
        clearInterval(timer)
        response.end('drip')
      }, DRIP_MS)
      return true
    },
  })
  tree = await startTree({ env: { NAMESAKE_ACCESS_LOG_SAMPLE: '0' } })
  root = localRoot(tree)
  const vendor = await addVendor(tree, 'shop', upstream.url)
  await vendor.claim(HOSTNAME)
  await eventually(async () => (await visit(at('/'))).status === 200, 60_000)
})

afterAll(async () => {
  await tree?.stop()
  await upstream?.stop()
})

test('while all edge processes are replaced, no request that has an end is lost', { timeout: 400_000 }, async () => {
  const stopLanes: (() => void)[] = []
  const load = startLoad(everyKindOfVisitor(stopLanes))
  for (let round = 0; round < 2; round++) {
    await moreAnswers(load)
    const former = await vi.waitFor(bothEdgePids, { timeout: 60_000 })
    tree.process.kill('SIGHUP')
    await eventually(async () => {
      const present = await edgePids()
      return present.length === 2 && !present.some((pid) => former.includes(pid)) && !former.some(isRunning)
    }, 180_000)
  }
  await moreAnswers(load)
  await load.stop()
  for (const stop of stopLanes) stop()
  expect(load.lost).toEqual([])
})

test('a reload leaves /ready at 200', async () => {
  const former = await processesOf(tree)
  tree.process.kill('SIGHUP')
  const away: unknown[] = []
  while (former.some(({ pid }) => isRunning(pid))) {
    const answer = await fetch(`${tree.internalUrl}/ready`, { headers: { connection: 'close' } })
    if (!answer.ok) away.push(await answer.json())
  }
  expect(away).toEqual([])
})

test('when an edge process is killed, new visitors go on being served at once, and its place is filled again', async () => {
  const [victim, survivor] = (await edgePids()) as [number, number]
  signal(victim, 'SIGKILL')
  await eventually(() => !isRunning(victim))
  const answers = await Promise.all(Array.from({ length: 50 }, () => visit(at('/'))))
  expect(answers.filter(({ status }) => status !== 200)).toEqual([])
  await eventually(async () => {
    const present = await edgePids()
    return present.length === 2 && present.includes(survivor) && !present.includes(victim)
  })
})

const at = (path: string) => ({ port: tree.httpsPort, hostname: HOSTNAME, ca: root, path })
const edgePids = async () => (await processesOf(tree, 'edge')).filter(({ ready }) => ready).map(({ pid }) => pid)
const bothEdgePids = async () => {
  const pids = await edgePids()
  expect(pids).toHaveLength(2)
  return pids
}

async function moreAnswers(load: Load): Promise<void> {
  const before = load.answered()
  await eventually(() => load.answered() >= before + SETTLE_ANSWERS || load.lost.length > 0, 60_000)
}

/** No lane repeats a request that may have been read: what a kept connection or a session did not answer counts as lost, but for what askKept says. */
function everyKindOfVisitor(stopLanes: (() => void)[]): Record<string, () => Promise<unknown>> {
  const lanes: Record<string, () => Promise<unknown>> = {
    'new connection': async () => expectWhole(await visit(at(`/bytes?count=${ANSWER_BYTES}`))),
    'slow answer on a new connection': async () => expectDrips((await visit(at('/slow'))).body),
    'upload on a new connection': async () => expectUploaded((await visit({ ...at('/count-upload'), method: 'POST', body: BODY })).body),
  }
  for (const i of [1, 2, 3]) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    stopLanes.push(() => agent.destroy())
    lanes[`busy kept connection ${i}`] = async () => expectWhole(await ask(agent, `/bytes?count=${ANSWER_BYTES}`))
  }
  for (const i of [1, 2, 3]) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    stopLanes.push(() => agent.destroy())
    lanes[`leisurely kept connection ${i}`] = async () => {
      expectUploaded((await ask(agent, '/count-upload', BODY)).body)
      await pause(Math.random() * 400)
    }
  }
  for (const i of [1, 2]) {
    const open = sessions(stopLanes)
    lanes[`HTTP/2 session ${i}`] = async () => {
      const get = async () => {
        const { headers, body } = await askHttp2(open, { ':path': `/bytes?count=${ANSWER_BYTES}` })
        expectWhole({ status: headers[':status']!, body })
      }
      const post = async () => expectUploaded((await askHttp2(open, { ':path': '/count-upload', ':method': 'POST' }, BODY)).body)
      await Promise.all([get(), post(), get()])
    }
  }
  const open = sessions(stopLanes)
  lanes['slow answer on an HTTP/2 session'] = async () => expectDrips((await askHttp2(open, { ':path': '/slow' })).body)
  return lanes
}

const BODY = 'x'.repeat(10_000)

function expectWhole({ status, body }: { status: number; body: string }): void {
  if (status !== 200 || body.length !== ANSWER_BYTES) throw new Error(`status ${status} with ${body.length} bytes`)
}

function expectDrips(body: string): void {
  if (body !== 'drip'.repeat(DRIPS)) throw new Error(`the slow answer was ${JSON.stringify(body)}`)
}

function expectUploaded(body: string): void {
  if ((JSON.parse(body) as { bytes: number }).bytes !== BODY.length) throw new Error(`the upload was answered with ${body}`)
}

/** One request over the agent's only connection. */
function ask(agent: Agent, path: string, body?: string): Promise<{ status: number; body: string }> {
  const target = { host: '127.0.0.1', port: tree.httpsPort, servername: HOSTNAME, ca: root, agent, path, method: body ? 'POST' : 'GET' }
  const headers = { host: HOSTNAME, ...(body ? { 'content-length': body.length } : {}) }
  return askKept(agent, EDGE_RESTS_MS, () => request({ ...target, headers }), body)
}

/** A stream that the server refuses was not read; clients send it again, on the next session (RFC 9113 §8.7). */
async function askHttp2(open: () => Promise<ClientHttp2Session>, headers: OutgoingHttpHeaders, body?: string): Promise<Http2Answer> {
  const answer = requestHttp2(await open(), headers, body)
  return answer.catch(async (error: { rstCode?: number }) => {
    if (error.rstCode !== constants.NGHTTP2_REFUSED_STREAM) throw error
    return requestHttp2(await open(), headers, body)
  })
}

/** The present HTTP/2 session, or the next one when the server has announced that it goes (GOAWAY): as browsers do it. */
function sessions(stopLanes: (() => void)[]): () => Promise<ClientHttp2Session> {
  let current: ClientHttp2Session | undefined
  let opening: Promise<ClientHttp2Session> | undefined
  const next = async () => {
    current = await openHttp2({ port: tree.httpsPort, hostname: HOSTNAME, ca: root })
    return current
  }
  stopLanes.push(() => current?.destroy())
  return async () => {
    if (current && !current.closed && !current.destroyed) return current
    opening ??= next().finally(() => {
      opening = undefined
    })
    return opening
  }
}
