import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DnsServer, startDnsServer } from './support/dns.ts'
import { type Pebble, startPebble } from './support/pebble.ts'
import { freePorts } from './support/ports.ts'
import { createTestDatabase } from './support/postgres.ts'
import { eventually, startTree, type Tree } from './support/tree.ts'
import { handshake, visit } from './support/visitor.ts'

const EDGE_HOST = 'edge.namesake.example'
const SHOP = 'shop.customer.com'
const SECRET = 'the secret of the journey has 32 bytes or more'

/** The installation under test: what is claimed on one tree is visited on the other, which may be the same. */
type World = { claims: Tree; visits: Tree; stop(): Promise<void> }

type Surroundings = { pebble: Pebble; dns: DnsServer; httpPort: number; env: Record<string, string> }

async function oneMachine({ env, httpPort }: Surroundings): Promise<World> {
  const tree = await startTree({ env: { ...env, NAMESAKE_HTTP_ADDR: `127.0.0.1:${httpPort}` } })
  return { claims: tree, visits: tree, stop: async () => void (await tree.stop()) }
}

async function twoMachines({ env, httpPort }: Surroundings): Promise<World> {
  const database = await createTestDatabase()
  const shared = { ...env, NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET }
  const claims = await startTree({ env: shared, args: ['--roles', 'api,worker'] })
  const visits = await startTree({ env: { ...shared, NAMESAKE_HTTP_ADDR: `127.0.0.1:${httpPort}` }, args: ['--roles', 'edge'] })
  const stop = async () => {
    await visits.stop()
    await claims.stop()
    await database.drop()
  }
  return { claims, visits, stop }
}

describe.each([
  ['one machine with its embedded database', oneMachine],
  ['two machines on one PostgreSQL server, claimed on one and visited on the other', twoMachines],
])('the main job on %s', (_, build) => {
  let world: World
  let surroundings: Surroundings
  let upstream: Server
  let token: string
  let root: string

  const api = (path: string, init: { method?: string; body?: unknown } = {}) =>
    fetch(`${world.claims.apiUrl}${path}`, {
      method: init.method ?? 'GET',
      headers: { authorization: `Bearer ${token}`, ...(init.body ? { 'content-type': 'application/json' } : {}) },
      ...(init.body ? { body: JSON.stringify(init.body) } : {}),
    })
  const details = async (hostname: string) => (await (await api(`/v1/edge/domains/${hostname}`)).json()) as Details

  beforeAll(async () => {
    const [httpPort] = (await freePorts(1)) as [number]
    const dns = await startDnsServer()
    dns.set(EDGE_HOST, 'A', '127.0.0.1')
    const pebble = await startPebble({ httpPort, dnsServer: dns.endpoint, strict: true, nonceReject: 20 })
    const env = {
      NAMESAKE_EDGE_HOST: EDGE_HOST,
      NAMESAKE_EDGE_IPS: '127.0.0.1',
      NAMESAKE_DNS_SERVERS: dns.endpoint,
      NAMESAKE_ACME_DIRECTORY: pebble.directoryUrl,
      NAMESAKE_ACME_CA_FILE: pebble.caFile,
      NAMESAKE_ACME_EMAIL: 'ops@namesake.example',
      NAMESAKE_ALLOW_PRIVATE_UPSTREAMS: 'true',
      NAMESAKE_PUBLIC_HTTP_PORT: String(httpPort),
    }
    surroundings = { pebble, dns, httpPort, env }
    upstream = createServer((request, response) =>
      response.end(JSON.stringify({ host: request.headers.host, proto: request.headers['x-forwarded-proto'] })),
    )
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    world = await build(surroundings)
    const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
    await world.claims.command('projects', 'create', '--name', 'Acme Shops', '--slug', 'acme', '--upstream', upstreamUrl)
    token = (await world.claims.command<{ token: string }>('tokens', 'issue', '--project', 'acme')).token
    root = await pebble.rootPem()
  }, 120_000)

  afterAll(async () => {
    await world?.stop()
    upstream?.close()
    await surroundings?.pebble.stop()
    await surroundings?.dns.stop()
  }, 90_000)

  test('a hostname nobody claimed is refused in TLS', async () => {
    await expect(handshake({ port: world.visits.httpsPort, hostname: SHOP, ca: root })).rejects.toThrow()
  })

  test('a claim is answered at once, unverified, and says which record is missing', async () => {
    const answer = await api('/v1/edge/domains', { method: 'POST', body: { hostname: SHOP, metadata: { shop: 7 } } })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      hostname: SHOP,
      projectSlug: 'acme',
      verified: false,
      verifiedAt: null,
      metadata: { shop: 7 },
    })
    await eventually(async () => (await details(SHOP)).dns.state === 'absent')
    const { dns } = await details(SHOP)
    expect(dns.sentence).toContain(EDGE_HOST)
    expect(dns.expected).toContainEqual({ name: SHOP, type: 'CNAME', value: EDGE_HOST })
  })

  test('once the customer adds the CNAME, the domain is verified and a certificate is issued without a visitor', async () => {
    surroundings.dns.set(SHOP, 'CNAME', EDGE_HOST)
    const checked = await api(`/v1/edge/domains/${SHOP}/check`, { method: 'POST' })
    expect(checked.status).toBe(200)
    await eventually(async () => (await details(SHOP)).verified, 60_000)
    await eventually(async () => (await details(SHOP)).certificate.state === 'issued', 60_000)
    const { certificate } = await details(SHOP)
    expect(certificate.issuer).toContain('Pebble')
    expect(certificate.attempts).toBe(0)
  })

  test('https://hostname/ answers from the upstream with the original Host', async () => {
    await eventually(async () => (await visit({ port: world.visits.httpsPort, hostname: SHOP, ca: root })).status === 200)
    const answer = await visit({ port: world.visits.httpsPort, hostname: SHOP, ca: root })
    expect(JSON.parse(answer.body)).toEqual({ host: SHOP, proto: 'https' })
  })

  test('the first visitor of a hostname without a certificate waits for it instead of failing', async () => {
    const hostname = 'first.customer.com'
    surroundings.dns.set(hostname, 'CNAME', EDGE_HOST)
    await api('/v1/edge/domains', { method: 'POST', body: { hostname } })
    await eventually(async () => (await visit({ port: world.visits.httpsPort, hostname, ca: root })).status === 200, 60_000)
  })

  test('200 handshakes over all edge processes share one order, and all succeed', async () => {
    const hostname = 'crowd.customer.com'
    await api('/v1/edge/domains', { method: 'POST', body: { hostname } })
    await eventually(async () => (await details(hostname)).dns.state === 'absent')
    const ordersBefore = ordersOf(surroundings.pebble, hostname)
    surroundings.dns.set(hostname, 'CNAME', EDGE_HOST)
    const sockets = await Promise.all(Array.from({ length: 200 }, (_, i) => handshakeFrom(i, hostname)))
    for (const socket of sockets) socket.destroy()
    expect(sockets).toHaveLength(200)
    expect(ordersOf(surroundings.pebble, hostname) - ordersBefore).toBe(1)
  })

  test('a name that points nowhere never becomes an order, and its visitor is refused', async () => {
    const hostname = 'nowhere.customer.com'
    await api('/v1/edge/domains', { method: 'POST', body: { hostname } })
    await eventually(async () => {
      await expect(handshake({ port: world.visits.httpsPort, hostname, ca: root })).rejects.toThrow()
      return (await details(hostname)).certificate.lastError !== null
    })
    expect(ordersOf(surroundings.pebble, hostname)).toBe(0)
  })

  test('port 80 sends visitors of a claimed hostname to https, and others get 404', async () => {
    const known = await visitPort80(surroundings.httpPort, SHOP)
    expect(known.status).toBe(308)
    expect(known.location).toMatch(new RegExp(`^https://${SHOP}(:\\d+)?/a\\?b$`))
    expect((await visitPort80(surroundings.httpPort, 'other.example.org')).status).toBe(404)
  })

  test('the edge host answers its liveness text', async () => {
    await eventually(async () => (await visit({ port: world.visits.httpsPort, hostname: EDGE_HOST, ca: root })).status === 200, 60_000)
  })

  test('resolve tells the vendor which project and upstream a hostname has', async () => {
    const answer = await api(`/v1/edge/resolve?hostname=${SHOP}`)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ hostname: SHOP, projectSlug: 'acme', metadata: { shop: 7 } })
  })

  test('a removed hostname is no longer served, within a second or so', async () => {
    expect((await api(`/v1/edge/domains/${SHOP}`, { method: 'DELETE' })).status).toBe(204)
    await eventually(
      async () => (await visit({ port: world.visits.httpsPort, hostname: SHOP, ca: root }).catch(() => ({ status: 0 }))).status !== 200,
      3_000,
    )
  })

  test('hostnames in the local copy are served while the control plane is gone', async () => {
    if (world.claims === world.visits) return
    await world.claims.stop()
    const answer = await visit({ port: world.visits.httpsPort, hostname: 'first.customer.com', ca: root })
    expect(answer.status).toBe(200)
  })

  /** A visitor is kept waiting for ten seconds at most, and comes again when a busy machine took longer. */
  const handshakeFrom = async (i: number, hostname: string) => {
    const to = { port: world.visits.httpsPort, hostname, ca: root, localAddress: `127.0.1.${1 + Math.floor(i / 10)}` }
    const beganAt = performance.now()
    return handshake(to).catch((error) => (performance.now() - beganAt > 9_000 ? handshake(to) : Promise.reject(error as Error)))
  }
})

type Details = {
  verified: boolean
  dns: { state: string; sentence: string; expected: object[] }
  certificate: { state: string; issuer: string; attempts: number; lastError: unknown }
}

/** How many orders for the hostname the authority has come to validate, by its own log. */
function ordersOf(pebble: Pebble, hostname: string): number {
  return pebble
    .output()
    .split('\n')
    .filter((line) => line.includes('Pulled a task') && line.includes(`"${hostname}"`)).length
}

function visitPort80(port: number, hostname: string): Promise<{ status: number; location: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/a?b', headers: { host: hostname }, agent: false }, (answer) => {
      answer.resume()
      resolve({ status: answer.statusCode!, location: answer.headers.location })
    })
    sent.on('error', reject).end()
  })
}
