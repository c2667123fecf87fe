import { expect, test } from 'vitest'
import { type Hostname, parseHostname, wildcardOver } from '../hostname.ts'
import { createAddressSet } from '../lib/addresses.ts'
import type { RouteAnswer } from '../replica/messages.ts'
import type { Route } from '../replica/rows.ts'
import { createClientLookups } from './client-lookups.ts'

const SCANNER = '192.0.2.1'
const VISITOR = '192.0.2.2'
const PROXY = '198.51.100.1'
const BURST = 20

let at = 0
const named = (label: string) => parseHostname(`${label}.customer.com`)

/** Only names that begin with `shop` are hostnames, with `wild` those under a wildcard. Of `nobody` nobody can say. */
function lookups(processes = 2) {
  const asked: Hostname[] = []
  const look = createClientLookups({
    async find(hostname) {
      asked.push(hostname)
      if (hostname.startsWith('nobody')) return { kind: 'unavailable' }
      if (!/^(shop|wild)/.test(hostname)) return { kind: 'unknown' }
      return { kind: 'route', route: { hostname: hostname.startsWith('wild') ? wildcardOver(hostname) : hostname } as Route }
    },
    trustedProxies: createAddressSet([PROXY]),
    processes,
    now: () => at,
  })
  const kinds = async (labels: string[], client?: string) => {
    const answers = await Promise.all(labels.map((label) => look(named(label), client)))
    return answers.map(({ kind }) => kind)
  }
  return { kinds, asked }
}
const labels = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word}${n}`)
const times = (count: number, kind: RouteAnswer['kind']) => Array.from({ length: count }, () => kind)

test('who guesses names is looked up for twenty times and then twice a second, and nobody else waits for it', async () => {
  const { kinds, asked } = lookups()
  expect(await kinds(labels('guess', 100), SCANNER)).toEqual([...times(BURST, 'unknown'), ...times(80, 'unavailable')])
  expect(asked).toHaveLength(BURST)
  expect(await kinds(['shop', 'other'], VISITOR)).toEqual(['route', 'unknown'])
  at += 2_500
  expect(await kinds(labels('more', 10), SCANNER)).toEqual([...times(5, 'unknown'), ...times(5, 'unavailable')])
})

test('a client whose names are hostnames has no bound but for what is under way', async () => {
  const { kinds } = lookups()
  for (let batch = 0; batch < 10; batch += 1) expect(await kinds(labels(`shop${batch}-`, BURST), VISITOR)).toEqual(times(BURST, 'route'))
  expect(await kinds(labels('guess', BURST + 1), VISITOR)).toEqual([...times(BURST, 'unknown'), 'unavailable'])
})

test('a trusted proxy, and the machine itself, are asked for without a bound; an IPv6 network is one client', async () => {
  const { kinds } = lookups()
  expect(await kinds(labels('guess', 100), PROXY)).toEqual(times(100, 'unknown'))
  expect(await kinds(labels('guess', 100))).toEqual(times(100, 'unknown'))
  const network = await Promise.all(labels('guess', 30).map((label, n) => kinds([label], `2001:db8:0:1::${n}`)))
  expect(network.flat().filter((kind) => kind === 'unavailable')).toHaveLength(30 - BURST)
})

test('who asks for a name that is being looked up already shares it', async () => {
  const { kinds, asked } = lookups()
  expect(
    await kinds(
      Array.from({ length: 50 }, () => 'guess'),
      SCANNER,
    ),
  ).toEqual(times(50, 'unknown'))
  expect(asked).toHaveLength(1)
  expect(await kinds(labels('another', BURST - 1), SCANNER)).toEqual(times(BURST - 1, 'unknown'))
})

test('a name under a wildcard, which anybody can make up, counts as a fifth of a guess; what nobody could say counts nothing', async () => {
  const { kinds } = lookups()
  const found: string[] = []
  for (let batch = 0; batch < 20; batch += 1) found.push(...(await kinds(labels(`wild${batch}-`, 10), SCANNER)))
  const served = found.filter((kind) => kind === 'route').length
  expect(served).toBeGreaterThanOrEqual(4 * BURST)
  expect(served).toBeLessThanOrEqual(5 * BURST)
  for (let batch = 0; batch < 10; batch += 1) await kinds(labels(`nobody${batch}-`, BURST), VISITOR)
  expect(await kinds(labels('shop', BURST), VISITOR)).toEqual(times(BURST, 'route'))
})

test('what one client guesses at all processes of a machine together hardly grows with their number', async () => {
  for (const [processes, atOnce] of [
    [1, 40],
    [4, 10],
    [64, 5],
  ] as const) {
    const answers = await lookups(processes).kinds(labels('guess', 50), SCANNER)
    expect(answers.filter((kind) => kind === 'unknown')).toHaveLength(atOnce)
  }
})
