import { expect, test } from 'vitest'
import { ownAddresses } from './own-addresses.ts'
import { describe } from './sentence.ts'
import { type Edge, judgeView, type Verdict, type View, weigh, weighProof } from './verdict.ts'
import type { Walk, WalkEnd } from './walk.ts'

const HOST = 'shop.customer.com'
const edge: Edge = {
  host: 'edge.namesake.example',
  target: 'edge.namesake.example',
  isLocal: false,
  addresses: new Set(['198.51.100.1', '198.51.100.2', '2001:db8::1']),
  ours: ownAddresses(['198.51.100.1', '198.51.100.2', '2001:db8::1']),
  portalHosts: new Set(['app.namesake.example']),
}

function led(
  targets: string[],
  addresses: string[] = [],
  end: WalkEnd = addresses.length > 0 ? 'addresses' : 'no-data',
  from = HOST,
): Walk {
  return { hops: targets.map((target, n) => ({ name: targets[n - 1] ?? from, target })), addresses, end }
}

function view(a: Walk, aaaa?: Walk, more: Partial<View> = {}): View {
  return { a, ...(aaaa ? { aaaa } : {}), isApex: false, ...more }
}

const nothing = () => view({ ...led([], [], 'no-such-name'), zone: 'customer.com' })
const none = led([])

const TABLE: [string, View, Verdict['kind']][] = [
  ['a CNAME to the edge host', view(led([edge.host], ['198.51.100.1'])), 'verified'],
  ['a CNAME to the edge host, which has other addresses than the apex ones', view(led([edge.host], ['203.0.113.99'])), 'verified'],
  ['a chain that ends at the edge host', view(led(['shop.vendor.example', edge.host], ['198.51.100.1'])), 'verified'],
  ['a chain through the edge host to its own load balancer', view(led([edge.host, 'lb.cloud.example'], ['203.0.113.9'])), 'verified'],
  ['an edge host that has IPv6 only', view(led([edge.host]), led([edge.host], ['2001:db8::1'])), 'verified'],
  ['flattened to our addresses', view(led([], ['198.51.100.1']), led([], ['2001:db8::1'])), 'verified'],
  ['flattened to our IPv4 addresses', view(led([], ['198.51.100.2', '198.51.100.1']), none), 'verified'],
  ['nothing at all', nothing(), 'absent'],
  ['a name without addresses', view(none, none), 'absent'],
  ['a CNAME to elsewhere', view(led(['shops.other.example'], ['203.0.113.9'])), 'wrong-target'],
  ['a CNAME to elsewhere that has our addresses', view(led(['shops.other.example'], ['198.51.100.1'])), 'wrong-target'],
  ['a CNAME to nowhere', view(led(['gone.other.example'], [], 'no-such-name')), 'wrong-target'],
  ['an A record to elsewhere', view(led([], ['203.0.113.9']), none), 'wrong-target'],
  ['a dot inside a label', view(led(['edge.namesake\\.example'], [], 'no-such-name')), 'typo-in-target'],
  ['a target in mixed case', view(led(['Edge.Namesake.example'], ['198.51.100.1'])), 'wrong-case'],
  ['a missing letter', view(led(['edge.namesak.example'], [], 'no-such-name')), 'typo-in-target'],
  ['two letters exchanged', view(led(['egde.namesake.example'], [], 'no-such-name')), 'typo-in-target'],
  ['a typing mistake whose zone fails', view(led(['edge.namesake.exmple'], [], 'failed')), 'typo-in-target'],
  ['the zone appended', view(led(['edge.namesake.example.customer.com'], [], 'no-such-name')), 'missing-final-dot'],
  ['the hostname appended', view(led(['edge.namesake.example.shop.customer.com'], [], 'no-such-name')), 'missing-final-dot'],
  ['another zone appended', view(led(['edge.namesake.example.other.com'], [], 'no-such-name')), 'wrong-target'],
  ['the domain twice', { ...nothing(), doubled: { at: `${HOST}.customer.com`, walk: led([edge.host], ['198.51.100.1']) } }, 'doubled-host'],
  [
    'a wildcard elsewhere is no doubled host',
    { ...nothing(), doubled: { at: `${HOST}.customer.com`, walk: led([], ['203.0.113.9']) } },
    'absent',
  ],
  ['a TXT instead of a CNAME', view(none, none, { texts: ['v=spf1 -all', 'CNAME edge.namesake.example.'] }), 'value-in-txt'],
  ['other TXT records', view(none, none, { texts: ['v=spf1 -all'] }), 'absent'],
  ['Cloudflare in front', view(led([], ['104.21.5.5', '172.67.1.1']), led([], ['2606:4700:3030::1'])), 'proxied'],
  ['Cloudflare in front, by CNAME', view(led(['shop.customer.com.cdn.cloudflare.net'], ['104.21.5.5'])), 'proxied'],
  ['another site behind Cloudflare', view(led(['customer.pages.dev'], ['172.66.44.1'])), 'wrong-target'],
  ['an apex elsewhere', view(led([], ['203.0.113.9']), none, { isApex: true }), 'apex-not-pointing'],
  ['an apex without addresses', view(none, none, { isApex: true }), 'absent'],
  ['our address and another', view(led([], ['198.51.100.1', '203.0.113.9']), none), 'mixed-addresses'],
  ['our A and AAAA, and another AAAA', view(led([], ['198.51.100.1']), led([], ['2001:db8::1', '2001:db8::bad'])), 'mixed-addresses'],
  ['our A, an old AAAA', view(led([], ['198.51.100.1']), led([], ['2001:db8::bad'])), 'stale-aaaa'],
  ['the portal', view(led(['App.Namesake.example'], ['198.51.100.1'])), 'target-is-portal'],
  ['a circle', view(led(['a.customer.com', 'shop.customer.com'], [], 'loop')), 'loop'],
  ['wrong signatures', view(led([], [], 'bogus')), 'dnssec-bogus'],
  ['an edge host that is gone', view(led([edge.host], [], 'no-such-name')), 'edge-host-broken'],
  ['an edge host that fails', view(led([edge.host], [], 'failed')), 'edge-host-broken'],
  ['an edge host whose servers are silent', view(led([edge.host], [], 'silent')), 'unknown'],
  ['a CNAME to a name that is silent', view(led(['old.dead.example'], [], 'silent')), 'unknown'],
  ['a CNAME to a name that fails', view(led(['old.dead.example'], [], 'failed')), 'unknown'],
  ['a CNAME to a name with wrong signatures', view(led(['old.dead.example'], [], 'bogus')), 'dnssec-bogus'],
  ['a CNAME to a name of ours with wrong signatures', view(led(['customers.namesake.example'], [], 'bogus')), 'unknown'],
  ['silence', view(led([], [], 'silent')), 'unknown'],
  ['an error', view(led([], [], 'failed')), 'unknown'],
  ['our A, an AAAA that fails', view(led([], ['198.51.100.1']), led([], [], 'failed')), 'unknown'],
  ['no A, an AAAA that is silent', view(none, led([], [], 'silent')), 'unknown'],
]

test.each(TABLE)('%s', (_, seen, kind) => {
  expect(judgeView(HOST, seen, edge).kind).toBe(kind)
})

test.each([
  ['the first, which is the customer’s,', ['shops.vendor.example', 'old.dead.example'], 'shops.vendor.example'],
  ['the one that leads into the edge host’s domain', ['shops.vendor.example', 'customers.namesake.example'], 'customers.namesake.example'],
])('of records that lead to what cannot be resolved, %s is named', (_, targets, target) => {
  expect(judgeView(HOST, view(led(targets, [], 'failed')), edge)).toMatchObject({ kind: 'unknown', record: { target } })
})

test('an edge host under .localhost needs no DNS to resolve', () => {
  const local = { ...edge, host: 'edge.localhost', target: 'edge.localhost', isLocal: true }
  expect(judgeView(HOST, view(led(['edge.localhost'], [], 'no-such-name')), local).kind).toBe('verified')
})

test('the edge host itself leads to the edge while it resolves', () => {
  expect(judgeView(edge.host, view(led([], ['203.0.113.9'], 'addresses', edge.host), none), edge).kind).toBe('verified')
  expect(judgeView(edge.host, view(led([], [], 'no-such-name', edge.host)), edge).kind).toBe('edge-host-broken')
})

test('a name in a domain that nobody registered says which domain is missing', () => {
  const seen = view({ ...led([], [], 'no-such-name'), zone: 'com' })
  expect(judgeView(HOST, seen, edge)).toEqual({ kind: 'absent', unregistered: 'customer.com' })
})

const absent: Verdict = { kind: 'absent' }
const verified: Verdict = { kind: 'verified', via: 'cname' }
const unknown: Verdict = { kind: 'unknown', reason: 'failed' }
const leading: Verdict = { kind: 'unknown', reason: 'failed', record: { name: HOST, target: 'old.dead.example' } }
const unsure: Verdict = { kind: 'unknown', reason: 'resolver' }
const elsewhere: Verdict = { kind: 'apex-not-pointing', addresses: ['203.0.113.9'] }

test.each([
  ['all right: verified, though the resolver remembers otherwise', absent, [verified, verified], 'verified'],
  ['some right: they disagree', absent, [verified, absent], 'servers-disagree'],
  ['right where reachable: verified', absent, [verified, 'silent' as const, 'lame' as const], 'verified'],
  ['none right: the servers count, being fresher', absent, [elsewhere, elsewhere], 'apex-not-pointing'],
  ['all lame: that', unknown, ['lame' as const, 'lame' as const], 'lame-delegation'],
  ['all lame to us, not to the resolver: its verdict', absent, ['lame' as const, 'lame' as const], 'absent'],
  ['lame and silent: nothing is sure', unknown, ['lame' as const, 'silent' as const], 'unknown'],
  ['lame and failing: nothing is sure', unknown, ['lame' as const, 'failed' as const], 'unknown'],
  ['silent: the resolver counts', absent, ['silent' as const], 'absent'],
  ['none asked: the resolver counts', absent, [], 'absent'],
  ['what follows at the servers fails: the resolver counts', elsewhere, [unknown], 'apex-not-pointing'],
  ['a record that leads to what cannot be resolved: it counts, being fresher', absent, [unknown, leading], 'unknown'],
  ['addresses that may be ours: nothing is told, whatever the resolver remembers and another has', absent, [absent, unsure], 'unknown'],
  ['addresses that may be ours beside right ones: verified', absent, [unsure, verified], 'verified'],
  ['all lame to us, and the resolver has addresses that may be ours: nothing is sure', unsure, ['lame' as const], 'unknown'],
  ['a record that leads to what cannot be resolved beside right ones: verified', absent, [leading, verified], 'verified'],
])('authoritative servers, %s', (_, resolver, verdicts, kind) => {
  const servers = verdicts.map((verdict, n) => ({ name: `ns${n}.customer.com`, verdict }))
  expect(weigh(resolver, 'customer.com', servers).verdict.kind).toBe(kind)
})

test('proof is asked for only where the DNS is right', () => {
  const proof = { name: `_namesake.${HOST}`, value: 'abc' }
  expect(weighProof(verified, { ...proof, found: 'no' })).toEqual({ kind: 'proof-needed', name: proof.name, proof: 'abc' })
  expect(weighProof(verified, { ...proof, found: 'yes' })).toEqual(verified)
  expect(weighProof(verified, { ...proof, found: 'unknown' }).kind).toBe('unknown')
  expect(weighProof(absent, { ...proof, found: 'no' })).toEqual(absent)
})

const SENTENCES: [Verdict, string][] = [
  [{ kind: 'verified', via: 'cname' }, 'The DNS of shop.customer.com is right: it leads to edge.namesake.example.'],
  [{ kind: 'absent' }, 'Add a CNAME record named "shop" in the DNS of customer.com with the value "edge.namesake.example".'],
  [
    { kind: 'absent', unregistered: 'customer.com' },
    'The domain customer.com does not exist in the DNS: check its spelling, and that it is registered and has not expired, then add a CNAME record named "shop" in the DNS of customer.com with the value "edge.namesake.example".',
  ],
  [
    { kind: 'wrong-target', record: { name: HOST, target: 'old.example' }, addresses: [] },
    'Change the CNAME record named "shop" in the DNS of customer.com from "old.example" to "edge.namesake.example".',
  ],
  [
    { kind: 'wrong-target', record: undefined, addresses: ['203.0.113.9'] },
    'shop.customer.com points to 203.0.113.9, which is not ours: remove this record, then add a CNAME record named "shop" in the DNS of customer.com with the value "edge.namesake.example".',
  ],
  [
    { kind: 'wrong-case', record: { name: HOST, target: 'Edge.namesake.example' } },
    'Change the CNAME record named "shop" in the DNS of customer.com from "Edge.namesake.example" to "edge.namesake.example", written in lower-case letters exactly like this.',
  ],
  [
    { kind: 'typo-in-target', record: { name: 'www.customer.com', target: 'egde.namesake.example' } },
    'There is a typing mistake in a record: change the CNAME record named "www" in the DNS of customer.com from "egde.namesake.example" to "edge.namesake.example".',
  ],
  [
    { kind: 'missing-final-dot', record: { name: HOST, target: 'edge.namesake.example.customer.com' } },
    'Change the CNAME record named "shop" in the DNS of customer.com from "edge.namesake.example.customer.com" to "edge.namesake.example." with a dot at its end, because without that dot the DNS provider has appended the domain.',
  ],
  [
    { kind: 'target-is-portal', record: { name: HOST, target: 'app.namesake.example' } },
    'Change the CNAME record named "shop" in the DNS of customer.com from "app.namesake.example" to "edge.namesake.example", because "app.namesake.example" is our website and does not serve customers\' hostnames.',
  ],
  [
    { kind: 'doubled-host', at: 'shop.customer.com.customer.com' },
    'The record was created at shop.customer.com.customer.com, with the domain twice: name it "shop" in the DNS of customer.com, with the value "edge.namesake.example".',
  ],
  [
    { kind: 'value-in-txt', text: 'edge.namesake.example' },
    'shop.customer.com holds our address in a TXT record, where it has no effect: add a CNAME record named "shop" in the DNS of customer.com with the value "edge.namesake.example", instead of the TXT record.',
  ],
  [
    { kind: 'proxied', by: 'Cloudflare', addresses: ['104.21.5.5'] },
    'The record named "shop" in the DNS of customer.com goes through Cloudflare\'s proxy: set it to "DNS only" (the grey cloud), as a CNAME with the value "edge.namesake.example".',
  ],
  [
    { kind: 'mixed-addresses', ours: ['198.51.100.1'], others: ['203.0.113.9', '203.0.113.8'] },
    'Remove the address records 203.0.113.8 and 203.0.113.9 of shop.customer.com, so that only 198.51.100.1 remains.',
  ],
  [
    { kind: 'mixed-addresses', ours: ['2001:db8::1'], others: ['203.0.113.9'] },
    'Replace the A record 203.0.113.9 of shop.customer.com by A records with 198.51.100.1 and 198.51.100.2.',
  ],
  [
    { kind: 'mixed-addresses', ours: ['2001:db8::1'], others: ['203.0.113.9', '203.0.113.8', '2001:db8::bad'] },
    'Replace the A records 203.0.113.8 and 203.0.113.9 of shop.customer.com by A records with 198.51.100.1 and 198.51.100.2, and remove the AAAA record 2001:db8::bad.',
  ],
  [
    { kind: 'stale-aaaa', addresses: ['2001:db8::bad'] },
    'Remove the AAAA record 2001:db8::bad of shop.customer.com: visitors with IPv6 are sent elsewhere by it.',
  ],
  [
    { kind: 'loop', hops: led(['a.customer.com', HOST]).hops },
    'The CNAME records of shop.customer.com lead in a circle (shop.customer.com → a.customer.com → shop.customer.com): change the one named "shop" in the DNS of customer.com to the value "edge.namesake.example".',
  ],
  [
    { kind: 'lame-delegation', zone: 'customer.com', servers: ['ns1.dns.example', 'ns2.dns.example'] },
    'The name servers that are entered for customer.com at your domain registrar (ns1.dns.example and ns2.dns.example) do not know it: set up customer.com at the DNS provider they belong to, or enter the name servers of your DNS provider there.',
  ],
  [
    { kind: 'servers-disagree', zone: 'customer.com', right: ['ns1.dns.example'], wrong: ['ns2.dns.example'] },
    'The name servers of customer.com give different answers: ns2.dns.example does not yet have the record of shop.customer.com that ns1.dns.example has, so wait some minutes, and if it stays so, add the record there too, or ask your DNS provider to bring them in step.',
  ],
  [
    { kind: 'dnssec-bogus' },
    'The signatures of the DNS answers of customer.com (DNSSEC) are not valid, so much of the internet refuses all its records: have your DNS provider sign customer.com again, or turn DNSSEC off at your domain registrar, which removes the DS record.',
  ],
  [
    { kind: 'dnssec-bogus', unsigned: true },
    'DNSSEC, by which DNS answers are signed, is on for customer.com at your domain registrar, but its DNS provider does not sign them, so much of the internet refuses all its records: turn DNSSEC off at your domain registrar, which removes the DS record.',
  ],
  [
    { kind: 'dnssec-bogus', record: { name: HOST, target: 'old.dead.example' } },
    'The CNAME record named "shop" in the DNS of customer.com leads to "old.dead.example", where much of the internet refuses all records, as their signatures (DNSSEC) are not valid: change it to "edge.namesake.example".',
  ],
  [
    { kind: 'edge-host-broken' },
    'The record of shop.customer.com is right and nothing is to be done there: edge.namesake.example, which is ours, does not resolve at the moment, and we must repair it.',
  ],
  [
    { kind: 'proof-needed', name: `_namesake.${HOST}`, proof: 'abc' },
    'The record of shop.customer.com is right; to prove that the hostname is yours, also add a TXT record named "_namesake.shop" in the DNS of customer.com with the value "abc".',
  ],
  [
    { kind: 'unknown', reason: 'silent' },
    'The DNS servers of shop.customer.com did not answer in time: we look again soon, and if it stays so, ask your DNS provider why they do not answer.',
  ],
  [
    { kind: 'unknown', reason: 'failed' },
    'The DNS servers of shop.customer.com answered with an error: we look again soon, and if it stays so, ask your DNS provider why shop.customer.com cannot be resolved.',
  ],
  [
    { kind: 'unknown', reason: 'failed', record: { name: HOST, target: 'old.dead.example' } },
    'The CNAME record named "shop" in the DNS of customer.com leads to "old.dead.example", which does not resolve at present: change it to "edge.namesake.example".',
  ],
  [
    { kind: 'unknown', reason: 'silent', record: { name: HOST, target: 'customers.namesake.example' } },
    'The record of shop.customer.com leads to "customers.namesake.example", which does not resolve at present: nothing is to be done now, we look again soon.',
  ],
]

test.each(SENTENCES)('%o says which record, at which name, with which value', (verdict, sentence) => {
  expect(describe(verdict, { hostname: HOST, isApex: false, byWildcard: undefined, zone: undefined, edge })).toBe(sentence)
})

test('an apex is told of ALIAS records and of the addresses', () => {
  const subject = { hostname: 'customer.com', isApex: true, byWildcard: undefined, zone: 'customer.com', edge }
  expect(describe({ kind: 'apex-not-pointing', addresses: ['203.0.113.9'] }, subject)).toBe(
    'customer.com points to 203.0.113.9, which is not ours: remove this record, then add an ALIAS or ANAME record named "@" in the DNS of customer.com with the value "edge.namesake.example", or A records with 198.51.100.1 and 198.51.100.2 and an AAAA record with 2001:db8::1 if your DNS provider has no such record.',
  )
})

test('the DS record of a delegated zone is in the DNS of the one above', () => {
  const subject = { hostname: 'shop.eu.customer.com', isApex: false, byWildcard: undefined, zone: 'eu.customer.com', edge }
  expect(describe({ kind: 'dnssec-bogus' }, subject)).toMatch(
    /, or remove the DS record of eu\.customer\.com in the DNS of customer\.com\.$/,
  )
})

test('a domain that was registered below br.com or the like is its registrar’s to mend', () => {
  const subject = { hostname: 'www.customer.br.com', isApex: false, byWildcard: undefined, zone: 'customer.br.com', edge }
  expect(describe({ kind: 'lame-delegation', zone: 'customer.br.com', servers: ['ns1.dns.example'] }, subject)).toMatch(
    /^The name servers that are entered for customer\.br\.com at your domain registrar \(/,
  )
  expect(describe({ kind: 'dnssec-bogus' }, subject)).toMatch(
    /, or turn DNSSEC off at your domain registrar, which removes the DS record\.$/,
  )
})

test('no apex is told to be a CNAME, unless its provider has such a thing', () => {
  const subject = { hostname: 'customer.com', isApex: true, byWildcard: undefined, zone: 'customer.com', edge }
  expect(describe({ kind: 'proxied', by: 'Sucuri', addresses: [] }, subject)).toMatch(
    /through Sucuri's proxy: remove this record, then add an ALIAS or ANAME record named "@"/,
  )
  expect(describe({ kind: 'proxied', by: 'Cloudflare', addresses: [] }, subject)).toContain('as a CNAME with the value')
})

test('a name in other letters than those of the DNS is told in both', () => {
  const subject = { hostname: 'xn--caf-dma.xn--bcher-kva.com', isApex: false, byWildcard: undefined, zone: 'xn--bcher-kva.com', edge }
  expect(describe({ kind: 'absent' }, subject)).toBe(
    'Add a CNAME record named "xn--caf-dma" in the DNS of xn--bcher-kva.com with the value "edge.namesake.example"; xn--caf-dma is how the DNS writes café, and xn--bcher-kva is how the DNS writes bücher.',
  )
  const unreadable = { ...subject, hostname: 'xn--zzzzzz.customer.com', zone: 'customer.com' }
  expect(describe({ kind: 'absent' }, unreadable)).toMatch(/with the value "edge\.namesake\.example"\.$/)
})

test('a record in a delegated zone is named as that zone names it', () => {
  const subject = { hostname: 'shop.eu.customer.co.uk', isApex: false, byWildcard: undefined, zone: 'eu.customer.co.uk', edge }
  expect(describe({ kind: 'absent' }, subject)).toContain('named "shop" in the DNS of eu.customer.co.uk')
  expect(describe({ kind: 'absent' }, { ...subject, zone: undefined })).toContain('named "shop.eu" in the DNS of customer.co.uk')
})
