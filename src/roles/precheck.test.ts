import { expect, test } from 'vitest'
import { DELEGATION_PROBLEM, DNS_PROBLEM, DNS_UNKNOWN_PROBLEM } from '../core/probes.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { createPrecheck, type PrecheckParts } from './precheck.ts'

const delegation = { target: 'label.acme.example', delegated: false }
const shop = parseHostname('shop.customer.test')

function precheckWith(changes: Partial<PrecheckParts>) {
  return createPrecheck({
    ...{ isOwn: () => false, leadsToEdge: async () => ({ kind: 'yes', addresses: ['192.0.2.1'] }), delegationOf: async () => delegation },
    ...{ checkHttp: async () => ({ kind: 'ours' }), checkTls: async () => undefined, offered: ['http-01', 'tls-alpn-01', 'dns-01'] },
    lookBesideOthers: async () => undefined,
    isValidating: true,
    ...changes,
  })
}

test('a hostname that leads here is proven over HTTP, without a look at port 443', async () => {
  const precheck = precheckWith({ checkTls: () => Promise.reject(new Error('port 443 must not be looked at')) })
  expect(await precheck(shop)).toEqual({ kind: 'go', ways: ['http-01', 'tls-alpn-01'] })
})

test('where another server answers port 80, TLS is used if it is ours, else both are named', async () => {
  const checkHttp = async () => ({ kind: 'answered-by-other' as const, sentence: 'It redirects.' })
  const ours = precheckWith({ checkHttp, checkTls: async () => ({ kind: 'ours' }) })
  expect(await ours(shop)).toEqual({ kind: 'go', ways: ['tls-alpn-01'] })
  const others = precheckWith({ checkHttp, checkTls: async () => ({ kind: 'answered-by-other', sentence: 'TLS is not ours.' }) })
  expect(await others(shop)).toMatchObject({ kind: 'no', sentence: 'It redirects. TLS is not ours.' })
})

test('before cut-over a delegated hostname is proven by DNS; any other is told what is wrong with its records', async () => {
  const leadsToEdge = async () => ({ kind: 'no' as const, sentence: 'It points elsewhere.' })
  expect(await precheckWith({ leadsToEdge, delegationOf: async () => ({ ...delegation, delegated: true }) })(shop)).toEqual({
    kind: 'go',
    ways: ['dns-01'],
  })
  expect(await precheckWith({ leadsToEdge })(shop)).toMatchObject({ kind: 'no', sentence: 'It points elsewhere.' })
})

test('a name beside those of others gets no certificate before its own record is seen, unless its challenges are delegated', async () => {
  const lookBesideOthers = async () => ({ state: 'absent' as const, sentence: 'Add a record of its own.' })
  expect(await precheckWith({ lookBesideOthers })(shop)).toMatchObject({
    ...{ kind: 'no', problem: { type: DNS_PROBLEM }, sentence: 'Add a record of its own.' },
  })
  const silent = async () => ({ state: 'unknown' as const, sentence: 'Nobody answers.' })
  expect(await precheckWith({ lookBesideOthers: silent })(shop)).toMatchObject({ kind: 'no', problem: { type: DNS_UNKNOWN_PROBLEM } })
  const delegated = precheckWith({ lookBesideOthers, delegationOf: async () => ({ ...delegation, delegated: true }) })
  expect(await delegated(shop)).toMatchObject({ kind: 'go' })
})

test('an attempt does not count for which there was no room to look, and does where nobody answers', async () => {
  const busy = { state: 'unknown', kind: 'unknown', sentence: 'We look again soon.', turnedAway: true } as const
  const refused = { kind: 'no', problem: { type: DNS_UNKNOWN_PROBLEM, detail: busy.sentence }, sentence: busy.sentence }
  expect(await precheckWith({ leadsToEdge: async () => busy })(shop)).toEqual({ ...refused, outage: true })
  expect(await precheckWith({ lookBesideOthers: async () => busy })(shop)).toEqual({ ...refused, outage: true })
  const { turnedAway: _, ...silent } = busy
  expect(await precheckWith({ leadsToEdge: async () => silent })(shop)).toEqual(refused)
})

test('a wildcard is never looked up itself', async () => {
  const leadsToEdge = () => Promise.reject(new Error('a wildcard has no address'))
  const wildcard = '*.customer.test' as Hostname
  expect(await precheckWith({ leadsToEdge, delegationOf: async () => ({ ...delegation, delegated: true }) })(wildcard)).toEqual({
    kind: 'go',
    ways: ['dns-01'],
  })
  expect(await precheckWith({ leadsToEdge })(wildcard)).toMatchObject({
    ...{
      problem: { type: DELEGATION_PROBLEM },
      sentence: expect.stringContaining('_acme-challenge.customer.test with the value "label.acme.example"'),
    },
  })
})

test('a wildcard from before the zone was taken away says that the operator must set one', async () => {
  const precheck = precheckWith({ delegationOf: async () => undefined, offered: ['http-01', 'tls-alpn-01'] })
  expect(await precheck('*.customer.test' as Hostname)).toMatchObject({ sentence: expect.stringContaining('NAMESAKE_DNS_ZONE') })
})

test("the service's own hosts are ordered for whatever is found, by TLS first where that alone is seen to be ours", async () => {
  const isOwn = () => true
  const both = { kind: 'go', ways: ['http-01', 'tls-alpn-01'] }
  const leadsToEdge = async () => ({ kind: 'no' as const, sentence: 'It is an address of another network.' })
  expect(await precheckWith({ isOwn, leadsToEdge })(shop)).toEqual(both)
  const other = async () => ({ kind: 'answered-by-other' as const, sentence: 'It redirects.' })
  expect(await precheckWith({ isOwn, checkHttp: other, checkTls: other })(shop)).toEqual(both)
  const closed = async () => ({ kind: 'cannot-connect' as const, sentence: 'Port 80 is closed.' })
  const tlsAlone = precheckWith({ isOwn, checkHttp: closed, checkTls: async () => ({ kind: 'ours' }) })
  expect(await tlsAlone(shop)).toEqual({ kind: 'go', ways: ['tls-alpn-01', 'http-01'] })
})
