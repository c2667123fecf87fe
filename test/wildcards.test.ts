import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from './support/ports.ts'
import { addVendor, eventually, localRoot, startTree, type Tree, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { handshake, visit } from './support/visitor.ts'

const WILDCARD = '*.customer.localhost'
const [ONE, TWO] = ['one.customer.localhost', 'two.customer.localhost']
const AT_ONCE_MS = 3_000 // the feed's promise is a second; a busy machine takes longer

let tree: Tree
let vendor: Vendor
let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
  tree = await startTree({ env: { NAMESAKE_DNS_ZONE: 'acme.namesake.test', NAMESAKE_DNS_ADDR: `127.0.0.1:${await freePort()}` } })
  vendor = await addVendor(tree, 'shop', upstream.url)
})
afterAll(async () => {
  await tree?.stop()
  await upstream?.stop()
})

/** The names in the certificate that a visitor of the hostname is shown, after a handshake with full checks. */
async function certificateOf(hostname: string): Promise<string> {
  const socket = await handshake({ port: tree.httpsPort, hostname, ca: localRoot(tree) })
  const names = socket.getPeerX509Certificate()!.subjectAltName!
  socket.destroy()
  return names
}

const visited = (hostname: string) => visit({ port: tree.httpsPort, hostname, ca: localRoot(tree) })
const hostAtUpstream = async (hostname: string) => {
  const { fields } = JSON.parse((await visited(hostname)).body) as { fields: string[] }
  return fields[fields.findIndex((field) => field.toLowerCase() === 'host') + 1]
}
const resolved = async (hostname: string) =>
  (await (await vendor.call(`/v1/edge/resolve?hostname=${hostname}`)).json()) as { hostname: string; metadata: object }

test('one claim serves two names over HTTPS with one certificate, and the upstream sees which', async () => {
  const claimed = await tree.command<{ hostname: string }>(
    'domains',
    'add',
    WILDCARD,
    '--project',
    'shop',
    '--metadata',
    '{"from":"wildcard"}',
  )
  expect(claimed.hostname).toBe(WILDCARD)
  await eventually(async () => (await visited(ONE)).status === 200, 60_000)
  expect(await hostAtUpstream(ONE)).toBe(ONE)
  expect(await hostAtUpstream(TWO)).toBe(TWO)
  for (const hostname of [ONE, TWO]) expect(await certificateOf(hostname)).toBe(`DNS:${WILDCARD}`)
  expect(await resolved(TWO)).toMatchObject({ hostname: TWO, metadata: { from: 'wildcard' } })
  for (const hostname of ['customer.localhost', 'deep.one.customer.localhost']) await expect(visited(hostname)).rejects.toThrow()
})

test('a name of its own wins at once without an error in between, gets its own certificate, and gives way again at once', async () => {
  const statuses = new Set<number | string>()
  let watching = true
  const watch = (async () => {
    while (watching) statuses.add(await visited(ONE).then(({ status }) => status, String))
  })()
  await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname: ONE, metadata: { from: 'one' } } })
  expect(await resolved(ONE)).toMatchObject({ metadata: { from: 'one' } })
  await eventually(async () => (await certificateOf(ONE)) === `DNS:${ONE}`, 60_000)
  expect(await certificateOf(TWO)).toBe(`DNS:${WILDCARD}`)
  await vendor.call(`/v1/edge/domains/${ONE}`, { method: 'DELETE' })
  expect(await resolved(ONE)).toMatchObject({ metadata: { from: 'wildcard' } })
  await eventually(async () => (await certificateOf(ONE)) === `DNS:${WILDCARD}`, AT_ONCE_MS)
  watching = false
  await watch
  expect([...statuses]).toEqual([200])
})

test('without the wildcard nothing under it is served any more, also what was never asked for before', async () => {
  expect((await vendor.call(`/v1/edge/domains/${encodeURIComponent(WILDCARD)}`, { method: 'DELETE' })).status).toBe(204)
  const refused = async (hostname: string) =>
    visited(hostname).then(
      () => false,
      () => true,
    )
  for (const hostname of [ONE, TWO, 'three.customer.localhost']) await eventually(() => refused(hostname), AT_ONCE_MS)
  await vendor.claim(WILDCARD)
  await eventually(async () => (await visited('three.customer.localhost')).status === 200, 60_000)
})
