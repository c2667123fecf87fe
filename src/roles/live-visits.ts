import { randomBytes } from 'node:crypto'
import { type LiveTarget, visitLive } from '../certs/live-visit.ts'
import { type ExactHostname, type Hostname, isWildcard, parseHostname, withoutStar } from '../hostname.ts'
import type { CheckLiveParts } from '../jobs/check-live.ts'
import type { Log } from '../log.ts'
import type { Probe } from '../probe/probe.ts'

export type LiveVisitsParts = Pick<Probe, 'leadsToEdge'> & {
  /** The public one for https. */
  port: number
  proxyProtocol: 'off' | 'required'
  log: Log
}

type Visit = CheckLiveParts['visit']

const LABEL_BYTES = 8
const EDGES_AT_ONCE_MAX = 20

/** Visits hostnames at each edge, and where their DNS leads. Of a wildcard that is a name below it which nobody uses. */
export function createLiveVisits({ leadsToEdge, port, proxyProtocol, log }: LiveVisitsParts): Visit {
  const visitAt = async (target: LiveTarget): Promise<Awaited<ReturnType<Visit>>> => {
    const outcome = await visitLive(target)
    if (outcome.kind === 'seen') return outcome
    const { hostname, addresses } = target
    log.info({ hostname, addresses, port: target.port, causes: outcome.causes }, 'our own request did not come through')
    return { kind: 'not-seen', sentence: outcome.sentence }
  }

  const visitEdge = async (hostname: ExactHostname, serial: string, edge: Parameters<Visit>[2][number]): Promise<string | undefined> => {
    const [, host, edgePort] = /^\[?(.+?)\]?:(\d+)$/.exec(edge.address)!
    const target = { hostname, addresses: [host!], port: Number(edgePort), publicPort: port, serial }
    const outcome = await visitAt({ ...target, proxyHeader: proxyProtocol === 'required' })
    return outcome.kind === 'seen' ? undefined : `Edge ${edge.name}: ${outcome.sentence}`
  }

  return async (hostname, serial, edges) => {
    const visited = visitedName(hostname)
    for (let from = 0; from < edges.length; from += EDGES_AT_ONCE_MAX) {
      const some = edges.slice(from, from + EDGES_AT_ONCE_MAX)
      const sentences = (await Promise.all(some.map((edge) => visitEdge(visited, serial, edge)))).filter(
        (sentence) => sentence !== undefined,
      )
      if (sentences.length > 0) return { kind: 'not-seen', sentence: sentences.join(' ') }
    }
    const target = await leadsToEdge(hostname)
    if (target.kind !== 'yes') return { kind: 'not-seen', sentence: target.sentence }
    return visitAt({ hostname: visited, addresses: target.addresses, port, serial })
  }
}

function visitedName(hostname: Hostname): ExactHostname {
  return isWildcard(hostname)
    ? parseHostname(`${randomBytes(LABEL_BYTES).toString('hex')}.${withoutStar(hostname)}`)
    : parseHostname(hostname)
}
