import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, ConfigError } from '../config.ts'
import { findChallenges } from '../core/challenges.ts'
import { closeDatabase, connectDatabase } from '../core/db.ts'
import { isDelegationLabel } from '../core/delegation.ts'
import { findRoute } from '../core/routes.ts'
import { createPendingTexts } from '../dns/pending-texts.ts'
import { QUERY_OUTCOMES } from '../dns/responder.ts'
import { startDnsServer } from '../dns/server.ts'
import { countBy } from '../lib/count-by.ts'
import { serveInternal } from './internal.ts'
import type { Listen, RoleContext, RunningRole } from './role.ts'

const EARLY_QUESTIONS_MAX = 1_000
const BIND_TRIES = 30
const BIND_PAUSE_MS = 100 // a former process of ours may be on its way out

/** Binds the datagram socket, or takes the one that was handed over, and returns the role's start. To be called while port 53 may be bound. */
export async function loadDns(
  config: Config,
  listen: Readonly<Record<string, Listen | undefined>>,
): Promise<(context: RoleContext) => Promise<RunningRole>> {
  const udp = await bindDatagrams(config, listen['dns-udp'])
  const early = keepEarly(udp)
  return async (context) => {
    const running = await startDns(context, udp)
    early.replay()
    return running
  }
}

/** The authoritative name server of NAMESAKE_DNS_ZONE: what authorities ask for DNS-01 challenges that customers have delegated to us. */
async function startDns(context: RoleContext, udp: Socket): Promise<RunningRole> {
  const { config, log, metrics } = context
  const db = connectDatabase(config.databaseUrl!, { applicationName: 'namesake dns', poolMax: 2, log })
  const countQuery = countBy(metrics, {
    name: 'namesake_dns_queries_total',
    help: 'Questions to our own DNS zone by what became of them',
    label: 'outcome',
    values: QUERY_OUTCOMES,
  })
  const texts = createPendingTexts(() => findChallenges(db, 'dns-01'))
  const server = await startDnsServer({
    zone: { name: config.dnsZone!, addresses: config.edgeIps, mayHold: isDelegationLabel, findTexts: texts.find },
    udp,
    tcp: context.listen.dns ?? config.dnsAddr,
    count: countQuery,
  })
  const internal = await serveInternal(context, { findInCopy: (hostname) => findRoute(db, hostname, { metadata: false }) })
  return {
    report: () => ({ ready: true, details: { zone: config.dnsZone, challenges: texts.state() } }),
    async stop() {
      await Promise.all([server.stop(), internal.stop()])
      await closeDatabase(db)
    },
  }
}

/** Beside a predecessor, the socket is asked as soon as it is bound: those questions wait for the server. */
function keepEarly(udp: Socket): { replay(): void } {
  const kept: [Buffer, RemoteInfo][] = []
  const keep = (...question: [Buffer, RemoteInfo]) => {
    if (kept.length < EARLY_QUESTIONS_MAX) kept.push(question)
  }
  udp.on('message', keep)
  return {
    replay() {
      udp.off('message', keep)
      for (const [packet, from] of kept) udp.emit('message', packet, from)
    },
  }
}

async function bindDatagrams({ dnsAddr }: Config, handed: Listen | undefined): Promise<Socket> {
  const type = dnsAddr.host.includes(':') ? 'udp6' : 'udp4'
  const address = handed && 'fd' in handed ? { fd: handed.fd } : { address: dnsAddr.host, port: dnsAddr.port }
  for (let attempt = 1; ; attempt++) {
    const udp = createSocket({ type, reusePort: true }) // beside a predecessor's; whoever is no part of us still finds the TCP port taken
    try {
      await bound(udp, address)
      return udp
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EADDRINUSE' && attempt < BIND_TRIES) await sleep(BIND_PAUSE_MS)
      else throw new ConfigError([explain(code, dnsAddr)])
    }
  }
}

function bound(udp: Socket, address: { fd: number } | { address: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    udp.once('error', reject)
    udp.bind(address, () => {
      udp.off('error', reject)
      resolve()
    })
  })
}

function explain(code: string | undefined, { host, port }: Config['dnsAddr']): string {
  const why = code === 'EADDRINUSE' ? 'is in use by another program (as root: ss -lunp)' : `cannot be bound (${code})`
  return `NAMESAKE_DNS_ADDR: UDP port ${port} of ${host} ${why}. Example: NAMESAKE_DNS_ADDR=203.0.113.10:53`
}
