// Requests per second of GET /v1/edge/resolve beside a bare Fastify route that answers the same bytes: rounds by turns, one server core, wrk on the other.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import fastify from 'fastify'
import { createApp } from '../src/api/app.ts'
import { createAuthenticator } from '../src/api/authentication.ts'
import { listen } from '../src/api/listen.ts'
import { createRouteFinder, type RouteAnswer } from '../src/api/route-finder.ts'
import { closeDatabase, connectDatabase } from '../src/core/db.ts'
import { loadRoutes } from '../src/core/routes.ts'
import { issueToken } from '../src/core/tokens.ts'
import type { Hostname } from '../src/hostname.ts'
import { Lru } from '../src/lib/lru.ts'
import { createLog } from '../src/log.ts'
import { portalParts } from '../test/support/portal-parts.ts'
import { createTemplate, sibling, startPostgres, TEMPLATE } from '../test/support/postgres-server.ts'
import { addProject, CLAIM_RULES, claim } from '../test/support/tenants.ts'
import { LOAD_CORE, MEASURED_CORE, onCore } from './support/cores.ts'
import { median, option, processorUs } from './support/measure.ts'
import { beginMeasurement } from './support/results.ts'

const HOSTNAMES = 1_000
const CONNECTIONS = 32
const GATE = 0.7
const GOAL = 0.9
const WARM_UP_S = 1
const ROUND_S = 2
const METADATA = '{"customer":42,"plan":"gold","theme":{"color":"#224466","logo":"https://cdn.vendor.test/logo.svg"}}'

type Bench = { token: string; hostnames: Hostname[]; ourPort: number; barePort: number; bareTextPort: number }
type Server = { data: Bench; pid: number; stop(): Promise<void> }
type Load = { perSecond: number; processor: number }

if (process.argv[2] === 'serve') await serve(process.argv[3]!)
else await measure(option('seconds', 30))

async function measure(seconds: number): Promise<void> {
  const measurement = beginMeasurement('resolve', { 'seconds N': 'measure for about N seconds, 30 by default' })
  const server = await startPostgres({ durable: false })
  try {
    await createTemplate(server.adminUrl)
    const bench = await startServer(sibling(server.adminUrl, TEMPLATE))
    const rounds = Math.max(1, Math.floor((seconds / ROUND_S - 2) / 3))
    const peers = [
      { name: 'namesake resolve', port: bench.data.ourPort, results: [] as Load[] },
      { name: 'bare Fastify route, object', port: bench.data.barePort, results: [] as Load[] },
      { name: 'bare Fastify route, ready text', port: bench.data.bareTextPort, results: [] as Load[] },
    ]
    for (const peer of peers) load(bench, peer.port, WARM_UP_S)
    for (let round = 0; round < rounds; round += 1) for (const peer of peers) peer.results.push(load(bench, peer.port, ROUND_S))
    const ours = peers[0]!.results
    const ratioTo = (theirs: Load[]) => median(ours.map(({ perSecond }, round) => perSecond / theirs[round]!.perSecond))
    const rows = peers.map(({ name, results }) => [
      name,
      Math.round(median(results.map(({ perSecond }) => perSecond))).toLocaleString('en'),
      ratioTo(results).toFixed(2),
      median(results.map(({ processor }) => processor)).toFixed(1),
      median(ours.map(({ processor }, round) => results[round]!.processor / processor)).toFixed(2),
    ])
    await bench.stop()
    measurement.publish({
      tables: [
        {
          title: `${CONNECTIONS} connections, ${HOSTNAMES} hostnames in memory`,
          rows: [['server', 'requests/s', 'ours ÷ theirs', 'processor µs', 'theirs ÷ ours'], ...rows],
        },
      ],
      targets: [
        { what: 'requests/s, × the bare route that answers the object', reached: ratioTo(peers[1]!.results), gate: GATE, goal: GOAL },
      ],
      notes: [`${rounds} rounds of ${ROUND_S} s by turns; the server has one core, wrk the other.`],
    })
  } finally {
    await server.stop()
  }
}

async function startServer(databaseUrl: string): Promise<Server> {
  const self = fileURLToPath(import.meta.url)
  const child = spawn(...onCore(MEASURED_CORE, [process.execPath, self, 'serve', databaseUrl]), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [data] = (await once(child, 'message')) as [Bench]
  return {
    data,
    pid: child.pid!,
    async stop() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

function load({ data: bench, pid }: Server, port: number, seconds: number): Load {
  const hostname = bench.hostnames[0]!
  const url = `http://127.0.0.1:${port}/v1/edge/resolve?hostname=${hostname}`
  const header = `Authorization: Bearer ${bench.token}`
  const arguments_ = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-H', header, url]
  const before = processorUs(pid)
  const output = execFileSync(...onCore(LOAD_CORE, ['wrk', ...arguments_]), { encoding: 'utf8' })
  if (/Non-2xx/.test(output)) throw new Error(output)
  const processor = (processorUs(pid) - before) / Number(/(\d+) requests in/.exec(output)![1])
  return { perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)![1]), processor }
}

/** The process that is measured: the whole API as it runs, and beside it the bare routes. */
async function serve(databaseUrl: string): Promise<void> {
  const db = connectDatabase(databaseUrl, { applicationName: 'bench' })
  const project = await addProject(db)
  const { token } = await issueToken(db, project.slug, {})
  const hostnames = await Promise.all(Array.from({ length: HOSTNAMES }, () => claim(db, project, undefined, METADATA)))
  const log = createLog('bench', 'fatal')
  const now = () => new Date()
  const isFresh = () => true
  const memory = new Lru<Hostname, RouteAnswer>(HOSTNAMES)
  for (const route of await loadRoutes(db, hostnames)) memory.set(route.hostname, { kind: 'route', route })
  const resolve = (hostname: Hostname) => memory.peek(hostname) ?? { kind: 'unknown' as const }
  const authenticator = createAuthenticator({ db, log, isFresh, now })
  const app = createApp({
    ...portalParts(db),
    db,
    log,
    baseUrl: new URL('http://127.0.0.1'),
    portal: [],
    version: 'bench',
    rules: CLAIM_RULES,
    probe: { check: () => Promise.reject(new Error('not in this bench')) },
    probeIntervalS: 300,
    trustedProxies: [],
    authenticate: authenticator.authenticate,
    vouch: authenticator.authenticate,
    finder: createRouteFinder({ db, isFresh, resolve, now }),
    announce: () => {},
    now,
  })
  const { projectSlug, upstreamUrl, metadataJson } = (await loadRoutes(db, [hostnames[0]!]))[0]!
  const answer = { hostname: hostnames[0]!, projectSlug, upstreamUrl, metadata: JSON.parse(metadataJson) as object }
  const anywhere = { host: '127.0.0.1', port: 0 }
  const bare = fastify()
  bare.get('/v1/edge/resolve', () => Promise.resolve(answer))
  const bareText = fastify()
  const text = JSON.stringify(answer)
  bareText.get('/v1/edge/resolve', (_request, reply) => reply.type('application/json; charset=utf-8').send(text))
  const ports = {
    ourPort: await listen(app, anywhere),
    barePort: await listen(bare, anywhere),
    bareTextPort: await listen(bareText, anywhere),
  }
  process.send!({ token, hostnames, ...ports } satisfies Bench)
  process.once('SIGTERM', () => {
    void Promise.all([app.close(), bare.close(), bareText.close()])
      .then(authenticator.close)
      .then(() => closeDatabase(db))
      .then(() => process.exit(0))
  })
}
