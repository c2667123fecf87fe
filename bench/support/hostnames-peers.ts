import { firstAnswer, residentMb, visitRandomly } from './hostname-visits.ts'
import { certificatesAmong, certifiedAt } from './population-names.ts'
import { type PeerName, startStaticPeer } from './static-peers.ts'

/** A peer with as many of the certificates of so many hostnames as it serves within a minute: all, or a half, a quarter or an eighth of them. */
export type PeerAtSize =
  | { kind: 'loaded'; certificates: number; startMs: number; startMb: number; usedMb: number; visitUs: number }
  | { kind: 'not-loaded'; reason: string }

type Place = { dir: string; port: number; upstream: number }

const LOAD_MS_MAX = 60_000
const VISITS_MS = 4_000
const SHARES = [1, 2, 4, 8]

export async function measurePeer(name: PeerName, place: Place, of: { hostnames: number; caFile: string }): Promise<PeerAtSize> {
  let last: PeerAtSize = { kind: 'not-loaded', reason: 'it was not tried' }
  for (const share of SHARES) {
    last = await tryPeer(name, place, { ...of, hostnames: Math.floor(of.hostnames / share) })
    if (last.kind === 'loaded') break
  }
  return last
}

async function tryPeer(name: PeerName, place: Place, { hostnames, caFile }: { hostnames: number; caFile: string }): Promise<PeerAtSize> {
  const certified = Array.from({ length: certificatesAmong(hostnames) }, (_, n) => certifiedAt(n))
  const peer = startStaticPeer(name, place, certified)
  try {
    const started = performance.now()
    const first = { port: place.port, hostname: certified[0]!, caFile, withinMs: LOAD_MS_MAX, hasEnded: peer.hasEnded }
    if (!(await firstAnswer(first))) return { kind: 'not-loaded', reason: peer.hasEnded() ? 'it ended' : 'it was still loading' }
    const startMs = performance.now() - started
    const startMb = residentMb(peer.processes())
    const { us } = await visitRandomly({ port: place.port, hostnames, caFile, ms: VISITS_MS, measured: peer.processes() })
    return { kind: 'loaded', certificates: certified.length, startMs, startMb, usedMb: residentMb(peer.processes()), visitUs: us }
  } finally {
    await peer.stop()
  }
}
