import { firstAnswer, residentMb, visitRandomly } from './hostname-visits.ts'
import { certificatesAmong, certifiedAt } from './population-names.ts'
import { type PeerName, startStaticPeer } from './static-peers.ts'

/** A peer with the certificates of so many hostnames; `not-loaded` when it does not serve within a minute. */
export type PeerAtSize =
  | { kind: 'loaded'; startMs: number; startMb: number; usedMb: number; visitUs: number }
  | { kind: 'not-loaded'; reason: string }

const LOAD_MS_MAX = 60_000
const VISITS_MS = 4_000

export async function measurePeer(
  name: PeerName,
  place: { dir: string; port: number; upstream: number },
  { hostnames, caFile }: { hostnames: number; caFile: string },
): Promise<PeerAtSize> {
  const certified = Array.from({ length: certificatesAmong(hostnames) }, (_, n) => certifiedAt(n))
  const peer = startStaticPeer(name, place, certified)
  try {
    const started = performance.now()
    const answered = await firstAnswer({
      port: place.port,
      hostname: certified[0]!,
      caFile,
      withinMs: LOAD_MS_MAX,
      hasEnded: peer.hasEnded,
    })
    if (!answered) return { kind: 'not-loaded', reason: peer.hasEnded() ? 'it ended' : 'it was still loading' }
    const startMs = performance.now() - started
    const startMb = residentMb(peer.processes())
    const { us } = await visitRandomly({ port: place.port, hostnames, caFile, ms: VISITS_MS, measured: peer.processes() })
    return { kind: 'loaded', startMs, startMb, usedMb: residentMb(peer.processes()), visitUs: us }
  } finally {
    await peer.stop()
  }
}
