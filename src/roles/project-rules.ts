import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import type { ProjectRules } from '../core/projects.ts'
import { loadRoutes } from '../core/routes.ts'
import { readUpstream, UpstreamFailure } from '../edge/upstream.ts'
import { createUpstreamGuard, type UpstreamGuard } from '../edge/upstream-guard.ts'
import { ServiceError } from '../errors.ts'
import type { Probe } from '../probe/probe.ts'
import { claimRules } from './claim-rules.ts'
import { checkCnameTarget } from './cname-target-check.ts'
import { createServiceProbe } from './service-probe.ts'

const LOOK_UP_MS_MAX = 3_000
const TO_OPERATORS =
  " (NAMESAKE_ALLOW_PRIVATE_UPSTREAMS=true allows private addresses, and this machine's at ports that are not the edge's)"

/** Which addresses a project's upstream may have in this installation. */
export function upstreamGuard(db: Db, config: Config, hint = ''): UpstreamGuard {
  return createUpstreamGuard({
    allowPrivate: config.allowPrivateUpstreams,
    hint: config.allowPrivateUpstreams ? '' : hint,
    ownAddresses: config.edgeIps,
    ownPorts: [config.httpAddr.port, config.httpsAddr.port],
    isServedHere: async (hostname) => (await loadRoutes(db, [hostname])).some(({ verified }) => verified),
  })
}

/** What a project is held to in this installation. An upstream whose name does not resolve yet, or not soon, is accepted: the edge looks again. */
export function projectRules(
  db: Db,
  config: Config,
  guard = upstreamGuard(db, config, TO_OPERATORS),
  leadsToEdge = lookOnce(config),
): ProjectRules {
  return {
    plans: config.plans,
    async checkUpstream(url, asker) {
      const patience = pause(LOOK_UP_MS_MAX, undefined, { ref: false })
      try {
        await Promise.race([guard.addressesOf(readUpstream(url.href, 'http1', asker)), patience])
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error
        if (error.reason === 'forbidden-address')
          throw new ServiceError('upstream_forbidden', `${url.origin} cannot be an upstream: ${error.message}`)
      }
    },
    checkCnameTarget: (target) => checkCnameTarget(target, claimRules(config), leadsToEdge),
  }
}

/** For a command, which asks once at most: by a probe of its own. */
function lookOnce(config: Config): Probe['leadsToEdge'] {
  return async (hostname) => {
    const probe = createServiceProbe(config)
    try {
      return await probe.leadsToEdge(hostname)
    } finally {
      probe.close()
    }
  }
}
