import type { Fault, Scene } from '../fault.ts'
import { EDGES } from '../machines.ts'
import { PLACES, type Place } from '../network.ts'
import { RULES } from '../rules.ts'

const PAUSE_MS = 60_000
const SLOW_MS = 15_000
const SLOW_STANDS_MS = 90
const SLOW_RUNS_MS = 10
const NOTICED_MS = 2_000 // until whoever watches the primary promotes its standby
const TWO_PRIMARIES_MS = 8_000
const AWAY_MS = 3_000
const WRITES_LOST_MS = 3_000
const OVERTAKEN_BY = 200 // more transactions than the lost seconds had

/** A database that stands still, crawls, is replaced by its standby, or comes back from the past. */
export const DATABASES: readonly Fault[] = [
  {
    name: `PostgreSQL paused for ${PAUSE_MS / 1_000} s`,
    rule: RULES.unnoticed,
    async inflict({ fleet, hold }) {
      const program = fleet.databases.primary().program()!
      program.pause()
      await hold(PAUSE_MS)
      program.resume()
    },
  },
  {
    name: `slow PostgreSQL: it stands still for ${SLOW_STANDS_MS} of every ${SLOW_STANDS_MS + SLOW_RUNS_MS} ms`,
    rule: RULES.unnoticed,
    async inflict({ fleet, hold }) {
      const program = fleet.databases.primary().program()!
      for (const until = performance.now() + SLOW_MS; performance.now() < until; ) {
        program.pause()
        await hold(SLOW_STANDS_MS)
        program.resume()
        await hold(SLOW_RUNS_MS)
      }
    },
  },
  {
    name: 'failover: the primary is killed, its standby promoted',
    short: true,
    rule: RULES.unnoticed,
    async inflict({ fleet: { databases }, hold, afterwards }) {
      await databases.primary().program()!.kill()
      await hold(NOTICED_MS)
      await databases.promote()
      afterwards(databases.renewStandby)
    },
  },
  {
    name: 'failover: the primary is cut off from everybody, its standby promoted',
    namespacesOnly: true,
    rule: RULES.unnoticed,
    async inflict({ fleet: { databases, network }, hold, afterwards }) {
      const former = databases.primary()
      const others = (Object.keys(PLACES) as Place[]).filter((place) => place !== former.place)
      const mend = await Promise.all(others.map((place) => network.cut(former.place, place)))
      await hold(NOTICED_MS)
      await databases.promote()
      afterwards(async () => {
        await former.program()!.kill()
        for (const undo of mend) await undo()
        await databases.renewStandby()
      })
    },
  },
  {
    name: 'failover: the former primary comes back, and believes that it still is',
    rule: RULES.unnoticed,
    async inflict({ fleet: { databases }, hold, afterwards }) {
      const former = databases.primary()
      await former.program()!.kill()
      await hold(NOTICED_MS)
      await databases.promote()
      await former.start()
      await hold(TWO_PRIMARIES_MS)
      await former.program()!.kill()
      afterwards(databases.renewStandby)
    },
  },
  {
    name: 'PostgreSQL restored from a backup, by point-in-time recovery',
    rule: RULES.unnoticed,
    inflict: (scene) => goBack(scene, { asRecovery: true }),
  },
  {
    name: 'PostgreSQL restored from a backup, as a plain copy of its files',
    rule: RULES.unnoticed,
    inflict: (scene) => goBack(scene, { asRecovery: false }),
  },
  {
    // By its numbers alone the edge could not tell this history from its own.
    name: 'a plain copy restored, and an edge that sees it only when its feed has overtaken the old one',
    namespacesOnly: true,
    rule: RULES.unnoticed,
    async inflict(scene) {
      const { network, databases } = scene.fleet
      const edge = scene.chance.of(EDGES)
      const mend = await Promise.all([network.cut(edge, 'db1'), network.cut(edge, 'db2')])
      try {
        await goBack(scene, { asRecovery: false })
        for (let i = 0; i < OVERTAKEN_BY; i++) await databases.primary().query('select pg_current_xact_id()', 'namesake')
      } finally {
        for (const undo of mend) await undo()
      }
    },
  },
]

/**
 * Writes that came after the backup are gone by the operator's own will; all others must be there. PostgreSQL's own recovery begins a new
 * timeline, which everybody notices; a plain copy of files has forgotten the marks that readers remember.
 */
async function goBack({ fleet, claims, hold }: Scene, { asRecovery }: { asRecovery: boolean }): Promise<void> {
  const { databases } = fleet
  claims.mayBeForgotten(true)
  await databases.takeBackup()
  await hold(WRITES_LOST_MS)
  await databases.primary().program()!.stop('SIGINT')
  await databases.standby().program()!.kill()
  databases.restoreBackup(asRecovery)
  await hold(AWAY_MS)
  await databases.primary().start()
  await databases.renewStandby()
  claims.mayBeForgotten(false)
}
