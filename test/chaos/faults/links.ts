import type { Fault, Scene } from '../fault.ts'
import { EDGES } from '../machines.ts'
import type { Place } from '../network.ts'
import { RULES } from '../rules.ts'

const HOLD_MS = 12_000
const LONG_HOLD_MS = 30_000 // TCP then sends again what was swallowed only after as long
const LOSS_PERCENT = 5

/** Links that carry nothing any more, in silence: what was sent is neither refused nor reset. */
export const LINKS: readonly Fault[] = [
  {
    name: 'partition: an edge from the database',
    short: true,
    rule: RULES.unnoticed,
    inflict: (scene) => part(scene, scene.chance.of(EDGES), databases(scene)),
  },
  {
    name: `partition: every edge from the database, for ${LONG_HOLD_MS / 1_000} s`,
    namespacesOnly: true,
    rule: RULES.unnoticed,
    async inflict(scene) {
      const cuts = EDGES.flatMap((edge) => databases(scene).map((database) => scene.fleet.network.cut(edge, database)))
      const mend = await Promise.all(cuts)
      await scene.hold(LONG_HOLD_MS)
      await Promise.all(mend.map((undo) => undo()))
    },
  },
  {
    name: 'partition: an API from the database',
    rule: RULES.unnoticed,
    inflict: (scene) => part(scene, scene.chance.of(['api1', 'api2']), databases(scene)),
  },
  {
    name: 'partition: a worker from the database',
    rule: RULES.unnoticed,
    inflict: (scene) => part(scene, scene.chance.of(['worker1', 'worker2']), databases(scene)),
  },
  {
    name: 'partition: an edge from the upstreams',
    namespacesOnly: true,
    rule: RULES.edgeHit,
    async inflict(scene) {
      const edge = scene.chance.of(EDGES)
      const hit = scene.hit(edge)
      await part(scene, edge, ['upstreams'])
      hit.over()
    },
  },
  {
    name: 'partition: a worker from the CA and DNS',
    namespacesOnly: true,
    rule: RULES.unnoticed,
    inflict: (scene) => part(scene, scene.chance.of(['worker1', 'worker2']), ['authority', 'names']),
  },
  {
    name: 'partition: the primary from its standby',
    namespacesOnly: true,
    rule: RULES.unnoticed,
    inflict: ({ fleet, hold }) => part({ fleet, hold }, fleet.databases.primary().place, [fleet.databases.standby().place]),
  },
  {
    name: `${LOSS_PERCENT} % of all packets lost, both ways, everywhere`,
    namespacesOnly: true,
    rule: RULES.unnoticed,
    async inflict({ fleet, hold }) {
      const undo = await fleet.network.lose(LOSS_PERCENT)
      await hold(HOLD_MS)
      await undo()
    },
  },
]

/** The databases to which there is a link: over relays the standby has none. */
function databases({ fleet }: Pick<Scene, 'fleet'>): Place[] {
  return fleet.network.kind === 'namespaces' ? ['db1', 'db2'] : ['db1']
}

async function part({ fleet, hold }: Pick<Scene, 'fleet' | 'hold'>, from: Place, to: readonly Place[]): Promise<void> {
  const mend = await Promise.all(to.map((one) => fleet.network.cut(from, one)))
  await hold(HOLD_MS)
  await Promise.all(mend.map((undo) => undo()))
}
