import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { type AppParts, createApp } from '../../src/api/app.ts'
import { createAuthenticator } from '../../src/api/authentication.ts'
import { leave, listen } from '../../src/api/listen.ts'
import { createRouteFinder, type RouteFinder } from '../../src/api/route-finder.ts'
import { closeDatabase, connectDatabase, type Db } from '../../src/core/db.ts'
import type { Project } from '../../src/core/projects.ts'
import { findRoute } from '../../src/core/routes.ts'
import { issueToken } from '../../src/core/tokens.ts'
import { createLog } from '../../src/log.ts'
import { createProbe } from '../../src/probe/probe.ts'
import { checkCnameTarget } from '../../src/roles/cname-target-check.ts'
import { drawLine } from './cut-line.ts'
import { type DnsServer, startDnsServer } from './dns.ts'
import { type AnswerCheck, createAnswerCheck, type OpenApiDocument } from './openapi-check.ts'
import { portalParts } from './portal-parts.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'
import { addProject, CLAIM_RULES, EDGE_HOST, PROJECT_RULES } from './tenants.ts'

export type Tenant = { project: Project; token: string; tokenId: string; call: Call }

export type Answer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** The body, parsed. */
  json<T = Record<string, unknown>>(): T
}

export type CallOptions = {
  /** Sent as JSON; a string goes out as it is, under the same type. */
  body?: unknown
  headers?: Record<string, string>
}

/** One request over a real socket. The path goes out byte for byte; the answer has been held against the OpenAPI document. */
export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>

export type TestApi = {
  url: string
  port: number
  db: Db
  databaseUrl: string
  dns: DnsServer
  finder: RouteFinder
  document: OpenApiDocument
  /** Hostnames whose change was announced, oldest first. */
  announced: string[]
  /** A request without a token. */
  call: Call
  /** A project of the test's own with a token; its `call` sends it. */
  addTenant(plan?: string): Promise<Tenant>
  forgetToken(tokenId: string): void
  /** Writes down the last uses of tokens at once. */
  flushUses(): Promise<void>
  /** The database is gone for good. */
  cutDatabase(): Promise<void>
  /** What its process does first when it is told to end. */
  leave(): Promise<void>
  stop(): Promise<void>
}

const PROBE_INTERVAL_S = 300
export const EDGE_IP = '192.0.2.10'

/** `database`: one that another instance uses too, and whoever made it drops. `portal`: what differs from test/support/portal-parts.ts. */
export type TestApiOptions = { database?: TestDatabase; portal?: Partial<AppParts>; wildcards?: boolean }

/** The API as it runs, on a free port, over a database and a DNS server of its own; where told, with wildcards. */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { wildcards = false } = options
  const database = options.database ?? (await createTestDatabase())
  const line = await drawLine(database.url)
  const db = connectDatabase(line.url, { applicationName: 'test-api' })
  const dns = await startDnsServer()
  dns.set(EDGE_HOST, 'A', EDGE_IP)
  const probe = createProbe({ edgeHost: EDGE_HOST, edgeIps: [EDGE_IP], portalHosts: [], servers: [dns.endpoint], caaIssuers: [] })
  const log = createLog('test-api', 'fatal')
  const now = () => new Date()
  const isFresh = () => true
  const resolve = async (hostname: Parameters<RouteFinder['find']>[0]) => {
    const route = await findRoute(db, hostname)
    return route ? { kind: 'route' as const, route } : { kind: 'unknown' as const }
  }
  const authenticator = createAuthenticator({ db, log, isFresh, now })
  const finder = createRouteFinder({ db, isFresh, resolve, now })
  const announced: string[] = []
  const app = createApp({
    ...portalParts(db),
    revoked: authenticator.forgetToken,

    db,
    log,
    baseUrl: new URL('https://api.namesake.test'),
    portal: [],
    version: '0.0.0-test',
    rules: { ...CLAIM_RULES, wildcards },
    probe,
    probeIntervalS: PROBE_INTERVAL_S,
    projectRules: { ...PROJECT_RULES, checkCnameTarget: (target) => checkCnameTarget(target, CLAIM_RULES, probe.leadsToEdge) },
    trustedProxies: [],
    authenticate: authenticator.authenticate,
    vouch: authenticator.authenticate,
    finder,
    announce: (hostname) => announced.push(hostname),
    now,
    ...options.portal,
  })
  const port = await listen(app, { host: '127.0.0.1', port: 0 })
  const document = app.swagger() as unknown as OpenApiDocument
  const call = createCall(port, createAnswerCheck(document))

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    db,
    databaseUrl: database.url,
    dns,
    finder,
    document,
    announced,
    call,
    async addTenant(plan) {
      const project = await addProject(db, plan)
      const { token, id } = await issueToken(db, project.slug, {})
      return { project, token, tokenId: id, call: withToken(call, token) }
    },
    forgetToken: authenticator.forgetToken,
    flushUses: authenticator.close,
    cutDatabase: line.cut,
    leave: () => leave(app),
    async stop() {
      await app.close()
      await authenticator.close()
      probe.close()
      await dns.stop()
      await closeDatabase(db)
      await line.cut()
      if (!options.database) await database.drop()
    },
  }
}

function withToken(call: Call, token: string): Call {
  return (method, path, options = {}) =>
    call(method, path, { ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } })
}

export function createCall(port: number, check: AnswerCheck): Call {
  return async (method, path, options = {}) => {
    const answer = await send(port, method, path, options)
    check(method, path, answer)
    return answer
  }
}

function send(port: number, method: string, path: string, { body, headers }: CallOptions): Promise<Answer> {
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const json: Record<string, string> = payload === undefined ? {} : { 'content-type': 'application/json' }
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request({ host: '127.0.0.1', port, method, path, agent: false, headers: { ...json, ...headers } }, (response) => {
    text(response).then((received) => {
      resolve({ status: response.statusCode!, headers: response.headers, text: received, json: <T>() => JSON.parse(received) as T })
    }, reject)
  })
  sent.on('error', reject)
  sent.end(payload)
  return promise
}
