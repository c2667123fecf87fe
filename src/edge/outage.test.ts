import { expect, test } from 'vitest'
import { Outage } from './outage.ts'
import { readUpstream, UpstreamFailure } from './upstream.ts'

/** One that is down, with somebody who waits, and an attempt under way. */
async function startOutage() {
  const attempts: PromiseWithResolvers<void>[] = []
  const refused = new UpstreamFailure('refused', 'nobody listens')
  const outage = new Outage(readUpstream('http://127.0.0.1:1', 'http1', '1'), refused, {
    bridgeMs: 60_000,
    tryConnect() {
      attempts.push(Promise.withResolvers())
      return attempts.at(-1)!.promise
    },
    isBrief: ({ reason }) => reason === 'refused',
    onCircuit() {},
    onEnd() {},
  })
  const letGo: number[] = []
  const hold = (one: number) => outage.hold({ readyAtMs: performance.now(), letGo: () => letGo.push(one), lookAgain() {} })
  outage.connectFailed(refused)
  hold(1)
  await expect.poll(() => attempts.length).toBe(1)
  return { outage, attempts, attempt: attempts[0]!, letGo, hold, refused }
}

test('who is held is let go with the first answer of the upstream, however long an attempt to connect takes', async () => {
  const { outage, letGo } = await startOutage()
  outage.succeeded()
  await expect.poll(() => letGo).toEqual([1])
})

test('an attempt that fails after an answer came takes nothing back', async () => {
  const { outage, attempt, letGo, hold, refused } = await startOutage()
  hold(2)
  outage.succeeded()
  attempt.reject(refused)
  await expect.poll(() => letGo).toEqual([1, 2])
  expect(outage.state).toBe('shaky')
})

test('who is held is let go once an attempt succeeds', async () => {
  const { attempt, letGo } = await startOutage()
  attempt.resolve()
  await expect.poll(() => letGo).toEqual([1])
})

test('an attempt that this machine could not make says nothing: the upstream is as far away as before, and tried again', async () => {
  const { outage, attempts, letGo } = await startOutage()
  attempts[0]!.reject(new UpstreamFailure('busy', 'no more files may be opened'))
  await expect.poll(() => attempts.length).toBe(2)
  expect([letGo, outage.state, outage.failure.reason]).toEqual([[], 'down', 'refused'])
  attempts[1]!.resolve()
  await expect.poll(() => letGo).toEqual([1])
})
