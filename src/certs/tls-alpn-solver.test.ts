import type { Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { startTestEdge } from '../../test/support/edge.ts'
import { startPebble } from '../../test/support/pebble.ts'
import { createChallengeSource } from '../edge/challenge-source.ts'
import { parseHostname } from '../hostname.ts'
import { createAcmeAuthority } from './acme-authority.ts'
import { type Challenge, IssueError } from './authority.ts'
import { readCertificate } from './certificate.ts'
import { generateAccountKey } from './keys.ts'
import { createChallengeCertificate } from './tls-alpn.ts'
import { createTlsAlpn, type TlsAlpnParts } from './tls-alpn-solver.ts'

const hostname = parseHostname('shop.customer.example')
const challenge: Challenge = { hostname, token: 'token', keyAuthorization: 'token.thumbprint' }
const inTime = () => AbortSignal.timeout(15_000)

/** What stands in the database; an edge hears of it `feedMs` later. */
let stored: Challenge[]
let withdrawn: string[]
beforeEach(() => {
  stored = []
  withdrawn = []
})

async function startEdge(feedMs = 0) {
  const challenges = createChallengeSource({ readAll: () => stored, certify: createChallengeCertificate })
  const edge = await startTestEdge({ challenges })
  onTestFinished(() => edge.stop(0))
  const hear = () => (feedMs === 0 ? challenges.changed() : void setTimeout(challenges.changed, feedMs))
  return { ...edge, hear }
}

function tlsAlpn(port: number, { hear = () => {}, ...more }: Partial<TlsAlpnParts> & { hear?: () => void } = {}) {
  return createTlsAlpn({
    port,
    async present(presented) {
      stored = [...stored, presented]
      hear()
    },
    async withdraw({ token }) {
      withdrawn.push(token)
      stored = stored.filter((one) => one.token !== token)
      hear()
    },
    addressesOf: async () => ['127.0.0.1'],
    ...more,
  })
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as { port: number }).port
}

test('an authority is sent to look once the edge answers, and gets its proof with port 80 closed', async () => {
  const edge = await startEdge(50)
  const pebble = await startPebble({ tlsPort: edge.httpsPort })
  onTestFinished(() => pebble.stop())
  const { directoryUrl, caFile } = pebble
  const authority = createAcmeAuthority({ directoryUrl, caFile, accountKeyPem: await generateAccountKey() })
  const issued = await authority.issue(hostname, { signal: inTime(), solver: tlsAlpn(edge.httpsPort, edge).solver })
  expect(readCertificate(issued.chainPem)).toMatchObject({ names: [hostname] })
  expect([stored, withdrawn.length]).toEqual([[], 1])
  const silent = { type: 'tls-alpn-01' as const, present: async () => {}, withdraw: async () => {} }
  const unproved = parseHostname('unproved.customer.example') // of the other one the authority may have kept the proof
  await expect(authority.issue(unproved, { signal: inTime(), solver: silent })).rejects.toThrow(/could not validate/)
})

test('presenting waits for the edges to hear of the challenge, also where an earlier one is shown first', async () => {
  const edge = await startEdge(300)
  const { solver } = tlsAlpn(edge.httpsPort, edge)
  await solver.present(challenge, inTime())
  const startMs = performance.now()
  await solver.present({ ...challenge, token: 'next', keyAuthorization: 'next.thumbprint' }, inTime())
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(290)
})

test('a hostname that leads elsewhere is a failure that says where', async () => {
  const { chainPem, keyPem } = await (await createTestCa()).issue([hostname])
  const port = await listen(createTlsServer({ cert: chainPem, key: keyPem, ALPNProtocols: ['h2', 'http/1.1'] }))
  const failure = await tlsAlpn(port)
    .solver.present(challenge, inTime())
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(IssueError)
  expect((failure as IssueError).problem.type).toBe('urn:namesake:error:challengeNotAnswered')
  expect((failure as IssueError).message).toMatch(/port \d+ of 127\.0\.0\.1\) is answered by another server: it refuses TLS-ALPN-01/)
})

test.each([['127.0.0.9'], []])('without a way to ourselves (%j) the authority is sent after the feed’s time', async (...addresses) => {
  const edge = await startEdge()
  const startMs = performance.now()
  await tlsAlpn(edge.httpsPort, { ...edge, addressesOf: async () => addresses }).solver.present(challenge, inTime())
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(1_490)
})

test('an attempt that is broken off ends the waiting', async () => {
  const port = await listen(createTlsServer({ ALPNProtocols: ['h2'] }))
  const presenting = tlsAlpn(port).solver.present(challenge, AbortSignal.timeout(100))
  await expect(presenting).rejects.toMatchObject({ problem: { type: 'urn:namesake:error:timeout' } })
})

test('before any challenge exists, one of our own shows whether it would be answered, and is taken away', async () => {
  const edge = await startEdge(50)
  const { selfCheck } = tlsAlpn(1, edge)
  expect(await selfCheck({ hostname, addresses: ['127.0.0.1'], port: edge.httpsPort })).toEqual({ kind: 'ours' })
  expect(await selfCheck({ hostname, addresses: ['127.0.0.9'], port: edge.httpsPort })).toMatchObject({ kind: 'cannot-connect' })
  expect([stored, withdrawn.length]).toEqual([[], 2])
})

test('a challenge that cannot be withdrawn is no failure: it expires', async () => {
  const { solver } = tlsAlpn(1, { withdraw: () => Promise.reject(new Error('the database is away')) })
  await solver.withdraw(challenge)
})
