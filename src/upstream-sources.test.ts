import { expect, test } from 'vitest'
import { doubtSources } from './upstream-sources.ts'

test.each([
  ['an edge without one of its addresses', ['127.0.0.1', '192.0.2.1'], ['edge'], ['this machine has no address 192.0.2.1, and visits']],
  ['an edge with all of them', ['127.0.0.1', '127.0.0.2'], ['api', 'edge'], []],
  ['an edge that leaves it to the system', [], ['edge'], []],
  [
    'an API without it, which tries upstreams',
    ['192.0.2.1'],
    ['api', 'worker'],
    ['this machine has no address 192.0.2.1, and of an application'],
  ],
  ['a worker, which connects to none', ['192.0.2.1'], ['worker'], []],
])('what source address is missing is said to %s', (_, upstreamSourceIps, roles, said) => {
  expect(doubtSources({ upstreamSourceIps }, roles)).toEqual(said.map((part) => expect.stringContaining(part)))
})
