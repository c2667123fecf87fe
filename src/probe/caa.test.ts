import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type DnsServer, startDnsServer } from '../../test/support/dns.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { type CaaWish, judgeCaa } from './caa.ts'
import { createProbe, type Probe } from './probe.ts'

const shop = parseHostname('shop.customer.test')
const EDGE = 'edge.namesake.test'
const ACCOUNT = 'https://acme.test/acct/1'

let dns: DnsServer
let probe: Probe
beforeAll(async () => {
  dns = await startDnsServer({ role: 'resolver', zones: ['test', 'customer.test', 'namesake.test'] })
})
beforeEach(() => {
  dns.unset('shop.customer.test', 'CAA')
  dns.unset('customer.test', 'CAA')
  dns.unset(EDGE, 'CAA')
  dns.set(EDGE, 'A', '127.0.0.10')
  dns.set('shop.customer.test', 'CNAME', EDGE)
  probe?.close() // parents are remembered for a minute
  const settings = { edgeHost: parseHostname(EDGE), edgeIps: ['127.0.0.10'], portalHosts: [], servers: [dns.endpoint], caaIssuers: [] }
  probe = createProbe(settings)
})
afterAll(async () => {
  probe.close()
  await dns.stop()
})

async function judged(wish: Partial<CaaWish> = {}, hostname: Hostname = shop) {
  const found = await probe.caaOf(hostname)
  return found.kind === 'records' ? judgeCaa(found.records, { issuers: ['ca.test'], ...wish }) : found
}

test.for<[string, string[], Partial<CaaWish>, string]>([
  ['the authority is named', ['0 issue "ca.test"'], {}, 'allows'],
  ['in capitals, among others', ['0 issue "other.test"', '0 issue " CA.Test "'], {}, 'allows'],
  ['another is named', ['0 issue "other.test"'], {}, 'forbids issuer'],
  ['nobody may issue', ['0 issue ";"'], {}, 'forbids issuer'],
  ['nobody may issue, but one may', ['0 issue ";"', '0 issue "ca.test"'], {}, 'allows'],
  ['no grammar', ['0 issue "%%%%%"'], {}, 'forbids issuer'],
  ['only mail is named', ['0 iodef "mailto:a@customer.test"'], {}, 'allows'],
  ['an unknown property', ['0 tbs "x"'], {}, 'allows'],
  ['an unknown critical property', ['128 tbs "x"', '0 issue "ca.test"'], {}, 'forbids not-understood'],
  ['issuewild for a hostname', ['0 issue "ca.test"', '0 issuewild ";"'], {}, 'allows'],
  ['issuewild for a wildcard', ['0 issue "ca.test"', '0 issuewild ";"'], { wildcard: true }, 'forbids issuer'],
  ['issuewild alone for a wildcard', ['0 issue ";"', '0 issuewild "ca.test"'], { wildcard: true }, 'allows'],
  ['issue for a wildcard', ['0 issue "ca.test"'], { wildcard: true }, 'allows'],
  ['issue of another for a wildcard', ['0 issue "other.test"'], { wildcard: true }, 'forbids issuer'],
  ['our account', [`0 issue "ca.test; accounturi=${ACCOUNT}"`], { accountUrl: ACCOUNT }, 'allows'],
  ['an account of somebody else', ['0 issue "ca.test; accounturi=https://acme.test/acct/2"'], { accountUrl: ACCOUNT }, 'forbids account'],
  ['two accounts in one record', [`0 issue "ca.test; accounturi=${ACCOUNT}; accounturi=x"`], { accountUrl: ACCOUNT }, 'forbids account'],
  ['two accounts in two', [`0 issue "ca.test;accounturi=x"`, `0 issue "ca.test;accounturi=${ACCOUNT}"`], { accountUrl: ACCOUNT }, 'allows'],
  ['one method', ['0 issue "ca.test; validationmethods=dns-01"'], {}, 'allows dns-01'],
  ['two methods', ['0 issue "ca.test; validationmethods=dns-01,tls-alpn-01"'], {}, 'allows dns-01,tls-alpn-01'],
  ['a method in one, any in another', ['0 issue "ca.test; validationmethods=dns-01"', '0 issue "ca.test"'], {}, 'allows'],
  ['a method of ours', ['0 issue "ca.test; validationmethods=dns-01"'], { challenges: ['http-01', 'dns-01'] }, 'allows dns-01'],
  ['methods that are not ours', ['0 issue "ca.test; validationmethods=dns-01"'], { challenges: ['http-01'] }, 'forbids method'],
  ['no method', ['0 issue "ca.test; validationmethods="'], { challenges: ['http-01'] }, 'forbids method'],
  [
    'methods that are not ours for the one, any for the other',
    ['0 issue "ca.test; validationmethods=dns-01"', '0 issue "other.test"'],
    { issuers: ['ca.test', 'other.test'], challenges: ['http-01'] },
    'allows',
  ],
  ['a parameter that we do not know', ['0 issue "ca.test; policy=ev"'], {}, 'allows'],
])('CAA: %s', async ([, values, wish, expected]) => {
  dns.set(EDGE, 'CAA', ...values)
  const finding = await judged(wish)
  const detail = finding.kind === 'forbids' ? finding.because : finding.kind === 'allows' ? finding.methods?.join() : undefined
  expect([finding.kind, detail].filter(Boolean).join(' ')).toBe(expected)
})

test('a record at the parent counts for the names below it', async () => {
  dns.set('customer.test', 'CAA', '0 issue "other.test"')
  expect(await judged()).toEqual({
    ...{ kind: 'forbids', because: 'issuer', at: 'customer.test', tag: 'issue' },
    ...{ allowed: ['other.test'], found: ['0 issue "other.test"'] },
  })
})

test("a record at a CNAME's target counts before one at the parent", async () => {
  dns.set('customer.test', 'CAA', '0 issue "other.test"')
  dns.set(EDGE, 'CAA', '0 issue "ca.test"')
  expect(await judged()).toMatchObject({ kind: 'allows' })
})

test('a wildcard is looked up at the name that it stands on', async () => {
  dns.set('customer.test', 'CAA', '0 issuewild ";"')
  expect(await judged({ wildcard: true }, '*.customer.test' as Hostname)).toMatchObject({ kind: 'forbids', at: 'customer.test' })
})

test('what DNS does not say is unknown, and forbids nothing', async () => {
  dns.behave('shop.customer.test', { rcode: 2, only: ['CAA'] })
  expect(await judged()).toEqual({ kind: 'unknown' })
  dns.behave('shop.customer.test', {})
})
