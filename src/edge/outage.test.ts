import { expect, test } from 'vitest'
import { Outage } from './outage.ts'
import { readUpstream, UpstreamFailure } from './upstream.ts'

test('who is held is let go once the upstream is back, also when an answer over another connection said so before the attempt did', async () => {
  const attempts: (() => void)[] = []
  const outage = new Outage(readUpstream('http://127.0.0.1:1', 'http1', '1'), new UpstreamFailure('refused', 'nobody listens'), {
    bridgeMs: 60_000,
    tryConnect: () => new Promise<void>((resolve) => attempts.push(resolve)),
    isBrief: () => true,
    onCircuit() {},
    onEnd() {},
  })
  let letGo = 0
  outage.connectFailed(outage.failure)
  outage.hold({ readyAtMs: performance.now(), letGo: () => (letGo += 1), lookAgain() {} })
  await expect.poll(() => attempts.length).toBe(1)
  outage.succeeded()
  attempts[0]!()
  await expect.poll(() => letGo).toBe(1)
})
