import { getServers } from 'node:dns'
import type { Message, RecordType } from '../lib/dns-message.ts'
import { openBudget } from './budget.ts'
import { createExchange } from './exchange.ts'
import { createResolver } from './resolver.ts'
import { parseServer, type Server } from './servers.ts'

export type NamedServer = Server & { name: string }

export type ZoneReader = {
  /** The name servers that the zone is delegated to, with their addresses, as the resolver sees them; empty where it sees none. */
  servers(): Promise<NamedServer[]>
  /** Asks one server; undefined when it does not answer within a second and a half. */
  ask(server: Server, asking: { name: string; type: RecordType }): Promise<Message | undefined>
  close(): void
}

const ASK_TIMEOUT_MS = 1_500
const NAME_SERVERS_MAX = 8
const DNS_PORT = 53

/** Looks at a zone of our own as others see it. `resolvers` as in NAMESAKE_DNS_SERVERS; none: the system's. `port`: the name servers'. */
export function createZoneReader(zone: string, resolvers: readonly string[], port = DNS_PORT): ZoneReader {
  const exchange = createExchange()
  const resolver = createResolver((resolvers.length > 0 ? resolvers : getServers()).map(parseServer), exchange)

  async function valuesOf(name: string, type: RecordType): Promise<string[]> {
    const reply = await resolver.resolveCached({ name, type }, openBudget())
    return reply.kind === 'answer' ? reply.message.answers.filter((record) => record.type === type).map(({ value }) => value) : []
  }

  return {
    async servers() {
      const names = (await valuesOf(zone, 'NS')).slice(0, NAME_SERVERS_MAX)
      const found = await Promise.all(
        names.map(async (name) => {
          const addresses = await Promise.all([valuesOf(name, 'A'), valuesOf(name, 'AAAA')])
          return addresses.flat().map((address) => ({ name: name.toLowerCase(), address, port }))
        }),
      )
      return found.flat()
    },
    ask(server, asking) {
      return exchange.ask(server, { ...asking, recurse: false, unchecked: true }, performance.now() + ASK_TIMEOUT_MS)
    },
    close: exchange.close,
  }
}
