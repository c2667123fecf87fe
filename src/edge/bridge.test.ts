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
  const waiter = { startedAtMs: performance.now(), timesHeld: 0, letGo: () => (letGo += 1), lookAgain() {}, giveUp() {} }
  bridge.holdFor(fail('app.other.com', 'other'), waiter)
  await expect.poll(() => letGo).toBe(1)
  expect(tried.filter((owner) => owner === 'slow')).toHaveLength(2)
  bridge.destroy()
})
