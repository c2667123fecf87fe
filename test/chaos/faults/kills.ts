import { isRunning, signal } from '../../../src/processes.ts'
import { eventually } from '../../support/tree.ts'
import type { Fault, Scene } from '../fault.ts'
import { EDGES, type Machine } from '../machines.ts'
import { RULES } from '../rules.ts'

const HOLD_MS = 3_000
const REPLACED_TIMEOUT_MS = 60_000
/** What is still on its way to a process when it is killed, and back. */
const IN_FLIGHT_MS = 250

/** kill -9 of one process of each kind. What nobody restarts by itself (a whole machine, PostgreSQL) is started again, as a service manager does. */
export const KILLS: readonly Fault[] = [
  {
    name: 'kill -9 an edge process',
    short: true,
    rule: RULES.edgeHit,
    async inflict(scene) {
      const edge = scene.chance.of(EDGES)
      const hit = scene.hit(edge)
      await killRole(scene.fleet.machines[edge], 'edge', async () => {
        await scene.hold(IN_FLIGHT_MS)
        await new Promise(setImmediate) // what has arrived by then is read first
        hit.over()
      })
    },
  },
  {
    name: 'kill -9 a follower',
    rule: RULES.unnoticed,
    inflict: (scene) => killRole(scene.fleet.machines[scene.chance.of(EDGES)], 'follower'),
  },
  {
    name: "kill -9 an edge's supervisor",
    short: true,
    rule: RULES.edgeHit,
    inflict: (scene) => killMachine(scene),
  },
  {
    name: 'kill -9 an edge while it cannot reach the database',
    namespacesOnly: true,
    rule: RULES.edgeHit,
    async inflict(scene) {
      const edge = scene.chance.of(EDGES)
      const { network } = scene.fleet
      const mend = await Promise.all([network.cut(edge, 'db1'), network.cut(edge, 'db2')])
      try {
        await killMachine(scene, edge)
        await scene.hold(HOLD_MS)
      } finally {
        for (const undo of mend) await undo()
      }
    },
  },
  {
    name: 'kill -9 an API process',
    rule: RULES.unnoticed,
    inflict: (scene) => killRole(scene.fleet.machines[scene.chance.of(['api1', 'api2'] as const)], 'api'),
  },
  {
    name: 'kill -9 a worker',
    short: true,
    rule: RULES.unnoticed,
    inflict: (scene) => killRole(scene.fleet.machines[scene.chance.of(['worker1', 'worker2'] as const)], 'worker'),
  },
  {
    name: 'kill -9 the PostgreSQL primary, then restart it',
    short: true,
    rule: RULES.unnoticed,
    async inflict({ fleet, hold }) {
      const primary = fleet.databases.primary()
      await primary.program()!.kill()
      await hold(HOLD_MS)
      await primary.start()
    },
  },
]

async function killRole(machine: Machine, role: string, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  const [victim] = await machine.processesOf(role)
  signal(victim!.pid, 'SIGKILL')
  const waited = meanwhile()
  await eventually(() => !isRunning(victim!.pid))
  await eventually(
    async () => (await machine.processesOf(role)).some(({ pid, ready }) => ready && pid !== victim!.pid),
    REPLACED_TIMEOUT_MS,
  )
  await waited
}

/** Only the supervisor is killed: its children have to notice and go by themselves before the next start can take their place. */
async function killMachine(scene: Scene, edge = scene.chance.of(EDGES)): Promise<void> {
  const machine = scene.fleet.machines[edge]
  const hit = scene.hit(edge)
  const former = machine.program().pids()
  signal(former[0]!, 'SIGKILL')
  await eventually(() => !isRunning(former[0]!))
  machine.start()
  // Not untilReady: for a moment an orphan may still answer for what was.
  await eventually(
    async () => (await machine.processesOf('edge')).some(({ pid, ready }) => ready && !former.includes(pid)),
    REPLACED_TIMEOUT_MS,
  )
  hit.over()
}
