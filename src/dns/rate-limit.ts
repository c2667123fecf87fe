import { isIPv6 } from 'node:net'
import { unmapped } from '../lib/addresses.ts'
import { Lru } from '../lib/lru.ts'
import { TokenBucket } from '../lib/token-bucket.ts'

/** `answer`; `slip`: answer that TCP is to be used, which a forged address cannot; `drop`. */
export type Verdict = 'answer' | 'slip' | 'drop'

const ANSWERS = { perSecond: 100, burst: 500 }
const SLIP_EVERY = 2
const NETWORKS_MAX = 20_000

type Network = { answers: TokenBucket; refused: number }

/**
 * How many datagrams one network (/24, or /56 of IPv6) is answered: 100 a second after a burst of 500. Beyond that every second one is told to
 * come over TCP, so that a resolver whose neighbour is impersonated still gets its answer, and a victim of forged questions little of it.
 */
export function createRateLimit(now: () => number = () => performance.now()): (address: string) => Verdict {
  const networks = new Lru<string, Network>(NETWORKS_MAX)
  return (address) => {
    const key = networkOf(address)
    const at = now()
    const network = networks.get(key) ?? { answers: new TokenBucket(ANSWERS, at), refused: 0 }
    networks.set(key, network)
    if (network.answers.take(at)) return 'answer'
    network.refused += 1
    return network.refused % SLIP_EVERY === 0 ? 'slip' : 'drop'
  }
}

/** The network (/24, or /56 of IPv6) that an address is in. */
export function networkOf(address: string): string {
  const plain = unmapped(address)
  if (!isIPv6(plain)) return plain.slice(0, plain.lastIndexOf('.'))
  const [left = ''] = plain.split('::')
  const groups = [...left.split(':').filter(Boolean), '0', '0', '0', '0'].slice(0, 4)
  return [...groups.slice(0, 3), Number.parseInt(groups[3]!, 16) >> 8].join(':')
}
