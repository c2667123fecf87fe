import { createChallengeCertificate } from '../certs/tls-alpn.ts'
import { runsOnJemalloc } from '../edge/allocator.ts'
import { type CertificateKnowledge, createCertificateSource } from '../edge/certificate-source.ts'
import { certificateText } from '../edge/certificate-text.ts'
import { createChallengeSource } from '../edge/challenge-source.ts'
import { type Edge, startEdge } from '../edge/edge.ts'
import type { HostAnswer } from '../edge/host.ts'
import { createEdgeMetrics } from '../edge/metrics.ts'
import { connectionCeiling, fileDescriptorsMax, upstreamCeiling } from '../file-descriptors.ts'
import { type Hostname, wildcardOver } from '../hostname.ts'
import { createAddressSet } from '../lib/addresses.ts'
import { machineMemory } from '../lib/machine-memory.ts'
import { createLineSink } from '../log.ts'
import type { CertificateRow, LightRoute, Route } from '../replica/rows.ts'
import { certificateKeys } from './certificate-keys.ts'
import { createVitals } from './edge-vitals.ts'
import { openLocalCopy } from './local-copy.ts'
import { ownHosts } from './own-hosts.ts'
import { THUMBPRINT } from './own-keys.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { type LocalAnswer, rememberAll } from './route-memory.ts'
import { openTicketKeys, TICKET_KEYS } from './ticket-keys.ts'

const DRAIN_MS_MAX = 30_000
const FOLLOWER_WAIT_MS = 2_000
/**
 * The routes and the certificates ready for handshakes of one process: what node and requests leave of 400 MB; less on a small machine. With jemalloc
 * they take less than is counted, and less lies idle beside them.
 */
const KEPT_BYTES_MAX = runsOnJemalloc() ? 212_000_000 : 170_000_000
const KEPT_SHARE = 1 / 8 // of the machine's memory, for all its edge processes together
const NO_TICKET_KEYS =
  'the keys of session tickets that all edges share cannot be opened: sessions resume at this process alone until they can. Give this machine all secrets that the others have (NAMESAKE_SECRET)'

/** The reverse proxy: answers from the local copy alone, holds neither a database connection nor an account key. */
export async function startEdgeRole(context: RoleContext): Promise<RunningRole> {
  const { config, log } = context
  const lines = createLineSink()
  const own = [...ownHosts(config)]
  const descriptors = fileDescriptorsMax()
  const visitorsMax = connectionCeiling(config.edgeConnections, descriptors)
  const keptBytes = Math.min(KEPT_BYTES_MAX, (machineMemory() * KEPT_SHARE) / config.edgeWorkers)
  const keys = certificateKeys(config)
  const trustedProxies = createAddressSet(config.trustedProxies)
  const copy = openLocalCopy(context, {
    keep: toLight,
    remember: rememberAll,
    changed(keys) {
      keys.certificates.forEach(certificates.changed)
      if (keys.challenges.length > 0) challenges.changed()
      if (keys.settings.includes(TICKET_KEYS)) shareTickets()
    },
    reset() {
      certificates.reset()
      challenges.changed()
      shareTickets()
    },
    visitors: { trustedProxies, processes: config.edgeWorkers },
    vitals: createVitals(() => edge?.report().admission.open ?? 0),
  })

  const inHand = ({ hostname, version, chainPem, sealedKey, notAfterMs }: CertificateRow): CertificateKnowledge['certificate'] => {
    if (!chainPem || !sealedKey || !notAfterMs) return undefined
    const open = () => {
      const keyPem = keys.open(sealedKey, hostname)
      return { id: `${hostname}:${version}`, ...certificateText({ chainPem, keyPem }), notAfterMs }
    }
    return { notAfterMs, open }
  }
  const readCertificate = (hostname: Hostname): CertificateKnowledge => {
    const row = copy.reader.findCertificate(hostname)
    if (!row) return {}
    const failure = { reason: row.reason ?? 'the last attempt failed', nextAttemptAtMs: row.nextAttemptAtMs ?? 0 }
    return { certificate: inHand(row), failure: row.state === 'failed' ? failure : undefined }
  }
  const findHost = (hostname: Hostname, client?: string) => {
    for (const [name, host] of own) if (name === hostname) return host // they are few; a map would have to read the name, which nearly always is another
    const found = copy.findRoute(hostname, client)
    return found instanceof Promise ? found.then(toHost) : toHost(found)
  }
  // Of what is only claimed nobody knows whose it is: a stranger would keep an application from its visitors. An upstream under its vendor's wildcard has
  // records of its own and is no loop.
  const isServedHere = (hostname: Hostname) => {
    if (own.some(([name]) => name === hostname)) return true
    const route = copy.reader.findRoute(hostname)
    return route?.hostname === hostname && route.verified
  }
  const servedBy = (hostname: Hostname, client: string) => {
    const host = findHost(hostname, client)
    return host instanceof Promise ? host.then((found) => namesFor(hostname, found)) : namesFor(hostname, host)
  }
  function* namesFor(hostname: Hostname, host: HostAnswer): Iterable<Hostname> {
    if (!isOurs(host)) return
    if (host.kind !== 'route') return yield hostname
    yield host.route.hostname
    if (host.route.hostname !== hostname) return
    const over = copy.reader.findRoute(wildcardOver(hostname))
    if (over && !over.proofNeeded && over.projectId === host.route.projectId) yield over.hostname
  }
  const certificates = createCertificateSource({
    read: readCertificate,
    servedBy,
    requestIssuance: copy.requestCertificate,
    now: Date.now,
    trustedProxies,
  })

  const brandOf = (projectId: string) => {
    const row = copy.reader.findBrand(projectId)
    return row && { name: row.name, color: row.color, ownHtml: row.errorPage }
  }

  let edge: Edge | undefined
  const shareTickets = () => {
    const sealed = copy.reader.findSetting(TICKET_KEYS)
    if (!sealed) return
    try {
      edge?.setTicketKeys(openTicketKeys(config, sealed))
    } catch (error) {
      log.error({ err: error }, NO_TICKET_KEYS)
    }
  }
  const challenges = createChallengeSource({ readAll: copy.reader.readChallenges, certify: createChallengeCertificate })

  // Names that were claimed while nothing ran here are not in the copy: whoever comes for one first must find somebody to ask.
  await copy.follower.firstHeard(FOLLOWER_WAIT_MS)
  edge = await startEdge({
    log,
    accessLog: lines,
    metrics: createEdgeMetrics(context.metrics),
    listen: { http: [context.listen.http ?? config.httpAddr], https: [context.listen.https ?? config.httpsAddr] },
    publicHttpsPort: config.publicHttpsPort,
    edgeHost: config.edgeHost,
    findHost,
    hostsRevision: copy.revision,
    brandOf,
    certificateFor: certificates.certificateFor,
    answerChallenge: (token) => challengeAnswer(copy.reader.findSetting(THUMBPRINT), token),
    challenges,
    upstream: {
      allowPrivate: config.allowPrivateUpstreams,
      sourceIps: config.upstreamSourceIps,
      ownAddresses: config.edgeIps,
      isServedHere,
    },
    bridgeMs: config.bridgeMs,
    trustedProxies: config.trustedProxies,
    proxyProtocol: config.proxyProtocol,
    ceilings: {
      processMax: visitorsMax,
      upstreamMax: upstreamCeiling(visitorsMax, descriptors),
      perClientMax: config.clientConnections,
    },
    http2Engine: config.http2Engine,
    accessLogSample: log.isLevelEnabled('info') ? config.accessLogSample : 0,
    contextBytesMax: () => keptBytes - copy.routeBytes(),
    unverifiedVisit: (hostname) => copy.follower.visitorCame(hostname),
  })
  shareTickets()
  const running = edge
  return {
    report: () => ({
      ready: copy.reader.state().usable,
      details: { ...copy.follower.status(), ...running.report(), waitingHandshakes: certificates.waiting() },
    }),
    async stop() {
      await running.stop(DRAIN_MS_MAX)
      await lines.flush()
      copy.close()
    },
  }
}

function isOurs({ kind }: { kind: string }): boolean {
  return kind === 'route' || kind === 'service' || kind === 'edge-root'
}

function toLight({ hostname, projectId, projectSlug, upstreamUrl, upstreamProtocol, verified, proofNeeded }: Route): LightRoute {
  return { hostname, projectId, projectSlug, upstreamUrl, upstreamProtocol, verified, proofNeeded }
}

function toHost(found: LocalAnswer<LightRoute>): HostAnswer {
  if (found.kind !== 'route') return found
  // What still needs its proof is neither verified nor routed: a dangling CNAME must not hand its traffic to a new claimant.
  return found.route.proofNeeded ? { kind: 'unknown' } : found
}

function challengeAnswer(thumbprint: Buffer | undefined, token: string): string | undefined {
  return thumbprint && `${token}.${thumbprint.toString()}`
}
