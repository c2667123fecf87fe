import { afterEach, beforeEach, expect, test } from 'vitest'
import { type DnsServer, startDnsServer } from '../../test/support/dns.ts'
import { parseClaimName, parseHostname } from '../hostname.ts'
import { createProbe, type Probe } from './probe.ts'

const EDGE = 'edge.namesake.test'
const PROOF = 'namesake-proof-1'
const wildcard = parseClaimName('*.customer.test')

let resolver: DnsServer
let probe: Probe
beforeEach(async () => {
  resolver = await startDnsServer({ role: 'resolver', zones: ['test', 'namesake.test', 'customer.test'] })
  resolver.set(EDGE, 'A', '127.0.0.10')
  const servers = [resolver.endpoint]
  probe = createProbe({ edgeHost: parseHostname(EDGE), edgeIps: ['127.0.0.10'], portalHosts: [], servers, caaIssuers: ['ca.example'] })
})
afterEach(async () => {
  probe.close()
  await resolver.stop()
})

const check = (proofNeeded = false) => probe.check(wildcard, { proof: PROOF, proofNeeded })
const asked = () => [...new Set(resolver.queries.map(({ name }) => name).filter((name) => name.endsWith('.customer.test')))]

test('a wildcard CNAME to the edge host verifies the wildcard, and is shown by its own name', async () => {
  resolver.set('*.customer.test', 'CNAME', EDGE)
  expect(await check()).toMatchObject({
    state: 'verified',
    sentence: `The DNS of *.customer.test is right: it leads to ${EDGE}.`,
    expected: [{ name: '*.customer.test', type: 'CNAME', value: EDGE }],
    found: [
      { name: '*.customer.test', type: 'CNAME', value: EDGE },
      { name: EDGE, type: 'A', value: '127.0.0.10' },
    ],
  })
  expect(await probe.leadsToEdge(wildcard)).toEqual({ kind: 'yes', addresses: ['127.0.0.10'] })
})

test('each look asks for another name, so that nobody can have set a record for it alone', async () => {
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  expect((await check()).state).toBe('absent')
  await check()
  const samples = asked().filter((name) => /^[0-9a-f]{20}\.customer\.test$/.test(name))
  expect(new Set(samples).size).toBeGreaterThan(1)
  expect(await probe.leadsToEdge(wildcard)).toMatchObject({ kind: 'no' })
})

test.each([
  ['absent', () => {}, `Add a CNAME record named "*" in the DNS of customer.test with the value "${EDGE}".`],
  [
    'wrong-target',
    () => resolver.set('*.customer.test', 'CNAME', 'elsewhere.test'),
    `Change the CNAME record named "*" in the DNS of customer.test from "elsewhere.test" to "${EDGE}".`,
  ],
  [
    'wrong-case',
    () => resolver.set('*.customer.test', 'CNAME', 'Edge.namesake.test'),
    `Change the CNAME record named "*" in the DNS of customer.test from "Edge.namesake.test" to "${EDGE}", written in lower-case letters exactly like this.`,
  ],
  [
    'doubled-host',
    () => resolver.set('*.customer.test.customer.test', 'CNAME', EDGE),
    `The record was created at *.customer.test.customer.test, with the domain twice: name it "*" in the DNS of customer.test, with the value "${EDGE}".`,
  ],
])('%s is told of the wildcard', async (state, set, sentence) => {
  set()
  expect(await check()).toMatchObject({ state, sentence })
})

test('the proof of a wildcard is looked for at the domain', async () => {
  resolver.set('*.customer.test', 'CNAME', EDGE)
  const owed = await check(true)
  expect(owed).toMatchObject({ state: 'proof-needed', expected: [{}, { name: '_namesake.customer.test', type: 'TXT', value: PROOF }] })
  expect(owed.sentence).toContain('add a TXT record named "_namesake" in the DNS of customer.test')
  resolver.set('_namesake.customer.test', 'TXT', PROOF)
  expect((await check(true)).state).toBe('verified')
})

test("the domain's CAA records are a wildcard's too", async () => {
  resolver.set('*.customer.test', 'CNAME', EDGE)
  resolver.set('customer.test', 'CAA', '0 issue "other.example"')
  expect((await check()).warnings).toMatchObject([
    { kind: 'caa-forbids', sentence: expect.stringContaining('customer.test allow only other.example') },
  ])
})

test.each([
  [['0 issue "ca.example"', '0 issuewild ";"'], 'with the value 0 issuewild "ca.example".'],
  [['0 issue ";"', '0 issuewild "ca.example"'], undefined],
  [['0 issue "ca.example; validationmethods=http-01"'], 'with the value 0 issue "ca.example; validationmethods=dns-01".'],
  [['0 issue "ca.example; validationmethods=dns-01"'], undefined],
])('of the CAA records %j the one for wildcards counts', async (records, remedy) => {
  resolver.set('*.customer.test', 'CNAME', EDGE)
  resolver.set('customer.test', 'CAA', ...records)
  expect((await check()).warnings).toEqual(remedy ? [{ kind: 'caa-forbids', sentence: expect.stringContaining(remedy) }] : [])
})

test('the wildcard record itself is not taken for a wrong delegation of the challenge, and a wildcard is told that it needs one', async () => {
  resolver.set('*.customer.test', 'CNAME', EDGE)
  const delegation = { name: '_acme-challenge.customer.test', value: 'label.acme.namesake.test' }
  const told = await probe.check(wildcard, { proof: PROOF, proofNeeded: false, delegation })
  expect(told.delegation).toMatchObject({
    state: 'absent',
    sentence:
      'To have a certificate for the wildcard, add a CNAME record named "_acme-challenge" in the DNS of customer.test with the value "label.acme.namesake.test".',
  })
  resolver.set(delegation.name, 'CNAME', delegation.value)
  const there = await probe.check(wildcard, { proof: PROOF, proofNeeded: false, delegation })
  expect(there.delegation).toMatchObject({ state: 'present', sentence: expect.stringMatching(/can be issued\.$/) })
})

test('what is left to add for a wildcard is for the zone that it stands on', async () => {
  resolver.set('*.eu.customer.test', 'CNAME', EDGE)
  resolver.set('eu.customer.test', 'NS', 'ns.eu-provider.test')
  resolver.set('customer.test', 'NS', 'ns.customer.test')
  const delegation = { name: '_acme-challenge.eu.customer.test', value: 'label.acme.namesake.test' }
  const told = await probe.check(parseClaimName('*.eu.customer.test'), { proof: PROOF, proofNeeded: false, delegation })
  expect(told).toMatchObject({ state: 'verified', zone: 'eu.customer.test', nameServers: ['ns.eu-provider.test'] })
  expect(told.delegation!.sentence).toContain('a CNAME record named "_acme-challenge" in the DNS of eu.customer.test with')
})
