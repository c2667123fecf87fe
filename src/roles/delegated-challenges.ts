import type { ChallengeSolver } from '../certs/authority.ts'
import { createDnsSolver } from '../certs/dns-challenge.ts'
import type { Config } from '../config.ts'
import { presentChallenge, withdrawChallenge } from '../core/challenges.ts'
import type { Db } from '../core/db.ts'
import { findDelegation } from '../core/delegation.ts'
import type { Hostname } from '../hostname.ts'
import { isSpecialAddress } from '../lib/addresses.ts'
import { RCODE } from '../lib/dns-message.ts'
import type { Server } from '../probe/servers.ts'
import { createZoneReader, type ZoneReader } from '../probe/zone-reader.ts'

/** How challenges are met that customers have delegated to our zone. */
export type DelegatedChallenges = {
  solver: ChallengeSolver
  /** The name that the hostname's challenges are to be delegated to, and whether the last check found that they are; undefined when nobody holds it. */
  delegationOf(hostname: Hostname): Promise<{ target: string; delegated: boolean } | undefined>
  close(): void
}

/** Undefined where no zone is configured. */
export function createDelegatedChallenges(config: Config, db: Db): DelegatedChallenges | undefined {
  const { dnsZone } = config
  if (!dnsZone) return undefined
  const reader = createZoneReader(dnsZone, config.dnsServers)
  const solver = createDnsSolver({
    labelOf: async (hostname) => (await findDelegation(db, hostname))?.label,
    present: (text) => presentChallenge(db, { type: 'dns-01', ...text }),
    withdraw: (text) => withdrawChallenge(db, { type: 'dns-01', ...text }),
    resolve: async (label) => {
      const servers = await nameServers(reader, config)
      return Promise.all(servers.map((server) => textsAt(reader, server, `${label}.${dnsZone}`)))
    },
  })
  return {
    solver,
    async delegationOf(hostname) {
      const found = await findDelegation(db, hostname)
      return found && { target: `${found.label}.${dnsZone}`, delegated: found.delegated }
    },
    close: reader.close,
  }
}

/** Those that the world is sent to; else, on a machine of its own or before the zone is delegated, where the role listens. */
async function nameServers(reader: ZoneReader, { dnsAddr: { host, port } }: Config): Promise<Server[]> {
  const delegated = (await reader.servers()).filter(({ address }) => !isSpecialAddress(address))
  if (delegated.length > 0) return delegated
  return [{ address: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, port }]
}

/** What one of our name servers says; undefined where it does not answer for the zone, which says as little of the challenge as silence. */
export async function textsAt(reader: Pick<ZoneReader, 'ask'>, server: Server, name: string): Promise<string[] | undefined> {
  const message = await reader.ask(server, { name, type: 'TXT' })
  const knows = message?.authoritative && (message.rcode === RCODE.noError || message.rcode === RCODE.noSuchName)
  return knows ? message.answers.filter(({ type }) => type === 'TXT').map(({ value }) => value) : undefined
}
