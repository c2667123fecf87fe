import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createBridge } from './bridge.ts'
import { readUpstream, UpstreamFailure } from './upstream.ts'

const REFUSED = new UpstreamFailure('refused', 'nobody listens')

test("attempts that take long, at the upstreams of one project, do not keep another project's waiting", async () => {
  const tried: string[] = []
  const bridge = createBridge({
    bridgeMs: 60_000,
    log: pino({ enabled: false }),
    probe(upstream) {
      tried.push(upstream.owner)
      return upstream.owner === 'slow' ? new Promise(() => {}) : Promise.resolve()
    },
    onHeldEnd() {},
  })
  const fail = (host: string, owner: string) => {
    const upstream = readUpstream(`http://${host}`, 'http1', owner)
    return bridge.connectFailed(upstream, REFUSED)!
  }
  for (let n = 0; n < 100; n += 1) fail(`slow${n}.vendor.com`, 'slow')
  await expect.poll(() => tried.length).toBeGreaterThan(0)
  let letGo = 0
  const waiter = { startedAtMs: performance.now(), timesHeld: 0, load: undefined, letGo: () => (letGo += 1), lookAgain() {}, giveUp() {} }
  bridge.holdFor(fail('app.other.com', 'other'), waiter)
  await expect.poll(() => letGo).toBe(1)
  expect(tried.filter((owner) => owner === 'slow')).toHaveLength(2)
  bridge.destroy()
})

test('the visitors of fifty projects whose upstreams are away leave room for those of one more', () => {
  const bridge = createBridge({
    bridgeMs: 60_000,
    log: pino({ enabled: false }),
    probe: () => new Promise(() => {}),
    onHeldEnd() {},
  })
  const visit = (owner: string) => {
    const outage = bridge.connectFailed(readUpstream('http://app.vendor.com', 'http1', owner), REFUSED)!
    const waiter = { startedAtMs: performance.now(), timesHeld: 0, load: undefined, letGo() {}, lookAgain() {}, giveUp() {} }
    return bridge.holdFor(outage, waiter)
  }
  for (let n = 0; n < 50 * 50; n += 1) visit(`away${n % 50}`)
  const oneMore = Array.from({ length: 10 }, () => visit('one more'))
  expect(oneMore).not.toContain(undefined)
  bridge.destroy()
})
