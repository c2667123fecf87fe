import { Registry } from 'prom-client'
import { certificateText } from '../../src/edge/certificate-text.ts'
import { type EdgeParts, startEdge } from '../../src/edge/edge.ts'
import type { HostAnswer } from '../../src/edge/host.ts'
import { createEdgeMetrics } from '../../src/edge/metrics.ts'
import type { CertificateAnswer } from '../../src/edge/tls.ts'
import type { UpstreamProtocol } from '../../src/edge/upstream.ts'
import { type Hostname, parseHostname } from '../../src/hostname.ts'
import { createTestCa, type TestCa } from './certificates.ts'
import { logsInto } from './edge-logs.ts'
import { type HeldEdge, type RemoteParts, startEdgeOnBun } from './edge-process.ts'

export const EDGE_HOST = 'edge.example.com'

type RouteMore = { projectId?: string; verified?: boolean; alsoFor?: string[]; upstreamProtocol?: UpstreamProtocol }

export type TestEdge = HeldEdge & {
  httpsPort: number
  httpPort: number
  ca: TestCa
  /** The lines of the log so far, parsed. */
  lines: Record<string, unknown>[]
  /** Makes a hostname lead to an upstream, with a certificate for it (and `alsoFor`). Again: changes it, with a new certificate. */
  route(hostname: string, upstreamUrl: string, more?: RouteMore): Promise<void>
  hosts: Map<string, HostAnswer>
  certificates: Map<string, CertificateAnswer | Promise<CertificateAnswer>>
  unverifiedVisits: string[]
}

/**
 * An edge on free loopback ports whose hosts and certificates are two maps that the test fills: in this process, or with TEST_EDGE_RUNTIME=bun in
 * one of Bun's.
 */
export async function startTestEdge(
  more: Partial<Omit<EdgeParts, 'upstream'>> & { upstream?: Partial<EdgeParts['upstream']> } = {},
): Promise<TestEdge> {
  const ca = await createTestCa()
  const lines: Record<string, unknown>[] = []
  const hosts = new CountedHosts([[EDGE_HOST, { kind: 'edge-root' }]])
  const certificates = new Map<string, CertificateAnswer | Promise<CertificateAnswer>>()
  const unverifiedVisits: string[] = []
  let issued = 0
  const certify = async (hostname: string, names: string[]) => {
    issued += 1
    certificates.set(hostname, { kind: 'certificate', id: `${hostname}:${issued}`, ...certificateText(await ca.issue(names)) })
  }
  await certify(EDGE_HOST, [EDGE_HOST])
  const upstream = {
    allowPrivate: true,
    sourceIps: [],
    ownAddresses: ['127.0.0.1'],
    isServedHere: (hostname: Hostname) => hosts.has(hostname),
  }
  const parts: RemoteParts = {
    writeLine: (line) => void lines.push(JSON.parse(line)),
    listen: { http: [{ host: '127.0.0.1', port: 0 }], https: [{ host: '127.0.0.1', port: 0 }] },
    publicHttpsPort: 443,
    edgeHost: parseHostname(EDGE_HOST),
    findHost: (hostname) => hosts.get(hostname) ?? { kind: 'unknown' },
    ...(!more.findHost && { hostsRevision: () => hosts.revision }),
    certificateFor: (hostname) => certificates.get(hostname) ?? { kind: 'refused', reason: 'not registered' },
    answerChallenge: (token) => (token.startsWith('known') ? `${token}.thumbprint` : undefined),
    challenges: { arePending: () => false, challengeFor: () => undefined },
    bridgeMs: 0,
    brandOf: () => undefined,
    trustedProxies: [],
    proxyProtocol: 'off',
    http2Engine: process.env.TEST_HTTP2_ENGINE === 'node' ? 'node' : 'own',
    accessLogSample: 1,
    unverifiedVisit: (hostname) => void unverifiedVisits.push(hostname),
    ...more,
    upstream: { ...upstream, ...more.upstream },
  }
  const edge = process.env.TEST_EDGE_RUNTIME === 'bun' ? await startEdgeOnBun(parts) : await startEdgeHere(parts)
  return {
    ...edge,
    httpsPort: edge.ports.https[0]!,
    httpPort: edge.ports.http[0]!,
    ca,
    lines,
    hosts,
    certificates,
    unverifiedVisits,
    async route(name, upstreamUrl, { projectId = '1', verified = true, alsoFor = [], upstreamProtocol = 'http1' } = {}) {
      const hostname = parseHostname(name)
      hosts.set(hostname, {
        kind: 'route',
        route: { hostname, projectId, projectSlug: `project-${projectId}`, upstreamUrl, upstreamProtocol, verified },
      })
      await certify(hostname, [hostname, ...alsoFor])
    },
  }
}

/** Counts its changes. */
class CountedHosts extends Map<string, HostAnswer> {
  revision = 0

  override set(hostname: string, host: HostAnswer): this {
    this.revision = (this.revision ?? 0) + 1 // it is not there yet when the first ones are set
    return super.set(hostname, host)
  }

  override delete(hostname: string): boolean {
    this.revision += 1
    return super.delete(hostname)
  }

  override clear(): void {
    this.revision += 1
    super.clear()
  }
}

async function startEdgeHere(parts: RemoteParts): Promise<HeldEdge> {
  const registry = new Registry()
  const edge = await startEdge({ ...parts, ...logsInto(parts.writeLine), metrics: createEdgeMetrics(registry) })
  return {
    ...edge,
    report: async () => edge.report(),
    setTicketKeys: async (keys) => edge.setTicketKeys(keys),
    metrics: () => registry.metrics(),
  }
}
