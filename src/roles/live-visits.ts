import { randomBytes } from 'node:crypto'
import { visitLive } from '../certs/live-visit.ts'
import { isWildcard, parseHostname, withoutStar } from '../hostname.ts'
import type { CheckLiveParts } from '../jobs/check-live.ts'
import type { Probe } from '../probe/probe.ts'

const LABEL_BYTES = 8

/** Visits hostnames where their DNS leads. Of a wildcard that is a name below it which nobody uses. `port` is the public one for https. */
export function createLiveVisits({ leadsToEdge }: Pick<Probe, 'leadsToEdge'>, port: number): CheckLiveParts['visit'] {
  return async (hostname, serial) => {
    const target = await leadsToEdge(hostname)
    if (target.kind !== 'yes') return { kind: 'not-seen', sentence: target.sentence }
    const visited = isWildcard(hostname)
      ? parseHostname(`${randomBytes(LABEL_BYTES).toString('hex')}.${withoutStar(hostname)}`)
      : parseHostname(hostname)
    return visitLive({ hostname: visited, addresses: target.addresses, port, serial })
  }
}
