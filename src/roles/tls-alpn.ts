import { createTlsAlpn, type TlsAlpn } from '../certs/tls-alpn-solver.ts'
import { presentChallenge, withdrawChallenge } from '../core/challenges.ts'
import type { Announcer } from '../core/changes.ts'
import type { Db } from '../core/db.ts'
import type { Probe } from '../probe/probe.ts'

export type TlsAlpnWiring = {
  db: Db
  announce: Announcer['announce']
  probe: Pick<Probe, 'leadsToEdge'>
  /** The port that authorities use for https. */
  port: number
}

/** TLS-ALPN-01 by way of the change feed: a challenge stands in the database while it is pending, and every edge of every machine answers it. */
export function createTlsAlpnOnEdges({ db, announce, probe, port }: TlsAlpnWiring): TlsAlpn {
  return createTlsAlpn({
    port,
    async present({ hostname, keyAuthorization }) {
      await presentChallenge(db, { type: 'tls-alpn-01', key: hostname, value: keyAuthorization })
      announce(hostname)
    },
    async withdraw({ hostname, keyAuthorization }) {
      await withdrawChallenge(db, { type: 'tls-alpn-01', key: hostname, value: keyAuthorization })
      announce(hostname)
    },
    async addressesOf(hostname) {
      const target = await probe.leadsToEdge(hostname)
      return target.kind === 'yes' ? target.addresses : []
    },
  })
}
