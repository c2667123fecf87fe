import { expect, test } from 'vitest'
import { planRounds, takeTurns } from './turns.ts'

const PROXIES = ['namesake', 'nginx'].map((name) => ({ name, port: 0, processes: () => [] }))
const PLANNED = PROXIES.map(({ name: proxy }) => ({ proxy }))
const PLAN = { rounds: 2, readMs: 1, again: 1, warmUpMs: () => 1 }

test('without a number of seconds there are seven rounds of one second', () => {
  expect(planRounds(PLANNED, undefined)).toMatchObject({ rounds: 7, readMs: 1_000 })
})

test('a shape whose caches fill slowly warms up longer, every proxy alike', () => {
  const { warmUpMs } = planRounds(PLANNED, undefined)
  expect([warmUpMs('namesake', 20_000), warmUpMs('nginx', 20_000)]).toEqual([20_000, 20_000])
  expect(warmUpMs('namesake')).toBeGreaterThan(warmUpMs('nginx'))
  const slow = PLANNED.map(({ proxy }) => ({ proxy, leastMs: 20_000 }))
  expect(planRounds(slow, 300).warmUpMs('nginx', 20_000)).toBe(20_000)
  expect(planRounds(slow, 4).warmUpMs('nginx', 20_000)).toBeLessThan(4_000)
})

test('more time makes more rounds, then longer ones; little time makes short ones', () => {
  const planned = ['namesake', 'nginx', 'haproxy', 'caddy'].map((proxy) => ({ proxy }))
  expect(planRounds(planned, 50).rounds).toBe(7)
  expect(planRounds(planned, 300)).toMatchObject({ rounds: 9 })
  expect(planRounds(planned, 300).readMs).toBeGreaterThan(1_000)
  expect(planRounds(planned, 20).readMs).toBeLessThan(1_000)
})

test('what needs more rounds takes its share of the time', () => {
  const warmUpsS = 4.7 // of both, once more
  const twice = PLANNED.map(({ proxy }) => ({ proxy, roundsFactor: 2 }))
  expect(planRounds(twice, 300)).toMatchObject({ rounds: 9, readMs: planRounds([...PLANNED, ...PLANNED], 300 + warmUpsS).readMs })
})

test('the proxies take turns, of which each begins one round in turn, and what they warm up with does not count', async () => {
  const order: string[] = []
  const { rounds } = await takeTurns(PROXIES, PLAN, {
    warmUp: async ({ name }) => order.push(`${name} warms up`),
    measure: async ({ name }) => ({ value: order.push(name) }),
  })
  expect(order).toEqual(['namesake warms up', 'nginx warms up', 'namesake', 'nginx', 'nginx', 'namesake'])
  expect(rounds.get('nginx')).toHaveLength(2)
})

test.each([2, 3, 5, 6, 8])('of %i proxies each comes behind every other one as often, and begins as often', async (count) => {
  const proxies = Array.from({ length: count }, (_, i) => ({ name: String(i), port: 0, processes: () => [] }))
  const order: string[] = []
  const measure = async ({ name }: { name: string }) => ({ value: order.push(name) })
  await takeTurns(proxies, { ...PLAN, rounds: 2 * count }, { warmUp: async () => {}, measure })
  const behind = new Map<string, number>()
  for (const [i, name] of order.entries()) {
    const pair = i % count === 0 ? `${name} begins` : `${name} behind ${order[i - 1]}`
    behind.set(pair, (behind.get(pair) ?? 0) + 1)
  }
  expect(behind.size).toBe(count * count)
  expect([...new Set(behind.values())]).toEqual([2])
})

test.each([
  ['once, where they are alike', 1, 1, 4],
  ['once, where one proxy alone has good and bad ones', 2, 1, 4],
  ['up to three times, where the machine has', 2, 2, 12],
])('rounds are taken %s', async (_, namesake, nginx, expected) => {
  let taken = 0
  const { rounds } = await takeTurns(
    PROXIES,
    { ...PLAN, rounds: 4, again: 3 },
    {
      warmUp: async () => {},
      measure: async ({ name }) => ({ value: Math.floor(taken++ / 2) % 2 === 0 ? 1 : name === 'nginx' ? nginx : namesake }),
    },
  )
  expect([...rounds.values()].map(({ length }) => length)).toEqual([expected, expected])
})

test('a proxy that fails once is measured again, which is told; one that always fails is left out with its reason', async () => {
  let failed = false
  const { rounds, failures, repeats } = await takeTurns(PROXIES, PLAN, {
    warmUp: async () => {},
    measure: async ({ name }) => {
      if (name === 'nginx') throw new Error('no answer')
      if (!failed) {
        failed = true
        throw new Error('once')
      }
      return { value: 1 }
    },
  })
  expect(rounds.get('namesake')).toHaveLength(2)
  expect(rounds.get('nginx')).toEqual([])
  expect([...failures]).toEqual([['nginx', 'no answer']])
  expect([...repeats]).toEqual([['namesake', ['once']]])
})
