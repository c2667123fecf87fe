import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createAcmeAuthority } from '../../src/certs/acme-authority.ts'
import { answerChallenge, CHALLENGE_PATH } from '../../src/certs/challenge.ts'
import { generateAccountKey, thumbprintOf } from '../../src/certs/keys.ts'
import { parseHostname } from '../../src/hostname.ts'
import { type StubFault, type StubOptions, type StubStep, startAcmeStub } from './acme-stub.ts'

const DAY_MS = 86_400_000
const shop = parseHostname('shop.customer.example')
const accountKeyPem = await generateAccountKey()
const inTime = () => ({ signal: AbortSignal.timeout(15_000) })

async function setUp(options: StubOptions = {}) {
  const stub = await startAcmeStub(options)
  onTestFinished(() => stub.stop())
  const authority = createAcmeAuthority({ directoryUrl: stub.directoryUrl, caFile: stub.caFile, accountKeyPem, now: options.now })
  return { stub, authority }
}

test.for([90, 45, 6])('a certificate of %d days comes through our own client, by the given clock', async (lifetimeDays) => {
  const now = () => new Date('2031-05-06T07:08:09.010Z')
  const { authority } = await setUp({ now, lifetimeDays, processingLooks: 2 })
  const { notBefore, notAfter } = await authority.issue(shop, inTime())
  expect(notBefore).toEqual(new Date('2031-05-06T07:08:09Z'))
  expect(notAfter.getTime() - notBefore.getTime()).toBe(lifetimeDays * DAY_MS)
})

test('a challenge is fetched for real when a port is given', async () => {
  let answering = true
  const edge = createServer((request, response) => {
    const token = request.url!.slice(CHALLENGE_PATH.length)
    response.end(answering ? answerChallenge(token, thumbprintOf(accountKeyPem)) : 'parked')
  })
  await new Promise<void>((resolve) => edge.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void edge.close())
  const { stub, authority } = await setUp({ httpPort: (edge.address() as AddressInfo).port, limits: { failuresPerHostname: 1 } })
  await authority.issue(shop, inTime())
  answering = false
  await expect(authority.issue(shop, inTime())).rejects.toMatchObject({ problem: { type: 'urn:ietf:params:acme:error:unauthorized' } })
  await expect(authority.issue(shop, inTime())).rejects.toMatchObject({ problem: { type: 'urn:ietf:params:acme:error:rateLimited' } })
  expect(stub.rateLimited()).toBe(1)
})

test.for<[StubStep, StubFault, string]>([
  ['directory', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['nonce', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['account', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['new-order', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['authorization', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['challenge', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['order', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['finalize', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['certificate', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['directory', { kind: 'malformed', text: '<html>' }, 'urn:namesake:error:malformedAnswer'],
  ['new-order', { kind: 'malformed', text: '[]' }, 'urn:namesake:error:malformedAnswer'],
  ['certificate', { kind: 'malformed', text: 'none' }, 'urn:namesake:error:certificateMismatch'],
  ['new-order', { kind: 'problem', name: 'caa', status: 403 }, 'urn:ietf:params:acme:error:caa'],
  ['finalize', { kind: 'problem', name: 'badCSR' }, 'urn:ietf:params:acme:error:badCSR'],
])('a fault at the step %s (%o) is met, and the next order succeeds when it is healed', async ([step, fault, type]) => {
  const { stub, authority } = await setUp()
  stub.fail(step, fault)
  await expect(authority.issue(shop, inTime())).rejects.toMatchObject({ problem: { type } })
  stub.heal()
  await expect(authority.issue(shop, inTime())).resolves.toMatchObject({ chainPem: expect.stringContaining('BEGIN') })
})

test('its own counters refuse the order that exceeds a limit and say when the next is welcome', async () => {
  let nowMs = Date.parse('2031-01-01T00:00:00Z')
  const { stub, authority } = await setUp({ now: () => new Date(nowMs), limits: { ordersPerRegisteredDomain: 2 } })
  await authority.issue(shop, inTime())
  nowMs += DAY_MS
  await authority.issue(parseHostname('two.customer.example'), inTime())
  const refused = authority.issue(parseHostname('three.customer.example'), inTime())
  await expect(refused).rejects.toMatchObject({ problem: { type: 'urn:ietf:params:acme:error:rateLimited' }, retryAfterS: 6 * 86_400 })
  await authority.issue(parseHostname('shop.other.example'), inTime())
  nowMs += 6 * DAY_MS
  await authority.issue(parseHostname('three.customer.example'), inTime())
  expect(stub.rateLimited()).toBe(1)
  expect(stub.orders).toHaveLength(4)
})
