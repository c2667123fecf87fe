import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { parseClaimName, parseHostname, wildcardOver } from '../hostname.ts'
import { certificateText } from './certificate-text.ts'
import type { HostAnswer } from './host.ts'
import type { CertificateAnswer } from './tls.ts'

const WILDCARD = parseClaimName('*.customer.com')

/** An edge over claims, the wildcard's and names of their own, each with a certificate. */
let edge: TestEdge
let upstream: Upstream
const claims = new Map<string, HostAnswer>()
const certificates = new Map<string, CertificateAnswer>()
const visits: string[] = []

async function claim(name: string, projectId: string, verified = true): Promise<void> {
  const hostname = parseClaimName(name)
  claims.set(hostname, { kind: 'route', route: { hostname, projectId, projectSlug: `p${projectId}`, upstreamUrl: upstream.url, verified } })
  certificates.set(hostname, { kind: 'certificate', id: name, ...certificateText(await edge.ca.issue([name])) })
}

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge({
    findHost: (hostname) => claims.get(hostname) ?? claims.get(wildcardOver(hostname)) ?? { kind: 'unknown' },
    certificateFor: (hostname) =>
      certificates.get(hostname) ?? certificates.get(wildcardOver(hostname)) ?? { kind: 'refused', reason: 'not registered' },
    unverifiedVisit: (claimed) => void visits.push(claimed),
  })
  await claim(WILDCARD, '1')
  await claim('own.customer.com', '1')
  await claim('other.customer.com', '2')
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})

const target = (hostname: string) => ({ port: edge.httpsPort, hostname, ca: edge.ca.certPem })
async function session(hostname: string) {
  const opened = await openHttp2(target(hostname))
  const ask = async (authority: string) => (await requestHttp2(opened, { ':path': '/', ':authority': authority })).headers[':status']
  return { ask, close: () => opened.close() }
}

test('one connection with a wildcard certificate serves all names of the project under it, and the upstream sees which', async () => {
  const opened = await openHttp2(target('a.customer.com'))
  for (const authority of ['a.customer.com', 'b.customer.com', 'own.customer.com']) {
    const { headers, body } = await requestHttp2(opened, { ':path': '/', ':authority': authority })
    expect(headers[':status']).toBe(200)
    expect(JSON.parse(body).fields).toContain(authority)
  }
  opened.close()
})

test("421 for another project's name under the wildcard, for names that it does not cover, and for the wildcard itself", async () => {
  const { ask, close } = await session('a.customer.com')
  for (const authority of ['other.customer.com', 'customer.com', 'a.b.customer.com', '*.customer.com'])
    expect(await ask(authority)).toBe(421)
  close()
  const others = await session('other.customer.com')
  for (const authority of ['a.customer.com', 'own.customer.com']) expect(await others.ask(authority)).toBe(421)
  others.close()
})

test('a name with a certificate of its own serves no other name on its connection', async () => {
  const { ask, close } = await session('own.customer.com')
  expect(await ask('own.customer.com')).toBe(200)
  expect(await ask('a.customer.com')).toBe(421)
  close()
})

test.each(['*.customer.com', '*', 'a.*.com'])('a handshake for %s is refused', async (servername) => {
  await expect(openHttp2(target(servername))).rejects.toThrow()
})

test('a Host with a star gets no answer of a tenant', async () => {
  const reader = await speak(target('a.customer.com'), 'GET / HTTP/1.1\r\nHost: *.customer.com\r\n\r\n')
  expect((await reader.answer()).status).toBe(421)
  reader.socket.destroy()
})

test('a visit under a wildcard that is not verified asks for the check of the wildcard', async () => {
  await claim('*.late.example', '1', false)
  const { ask, close } = await session('shop.late.example')
  expect(await ask('shop.late.example')).toBe(200)
  expect(new Set(visits)).toEqual(new Set([parseClaimName('*.late.example')]))
  expect(visits).not.toContain(parseHostname('shop.late.example'))
  close()
})
