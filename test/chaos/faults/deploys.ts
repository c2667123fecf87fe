import { isRunning } from '../../../src/processes.ts'
import { eventually } from '../../support/tree.ts'
import type { Fault } from '../fault.ts'
import type { Machine } from '../machines.ts'
import { RULES } from '../rules.ts'

const ROLLED_TIMEOUT_MS = 40_000
const UPSTREAM_AWAY_MS = 5_000

/** Deploys: ours, and those of the applications behind. */
export const DEPLOYS: readonly Fault[] = [
  {
    name: 'SIGHUP of every machine, one after the other',
    short: true,
    rule: RULES.unnoticed,
    async inflict({ fleet }) {
      for (const machine of Object.values(fleet.machines)) await roll(machine)
    },
  },
  {
    name: `an application is away for ${UPSTREAM_AWAY_MS / 1_000} s`,
    short: true,
    rule: RULES.unnoticed,
    async inflict({ fleet, hold }) {
      await fleet.shyUpstream.program().kill()
      await hold(UPSTREAM_AWAY_MS)
      await fleet.shyUpstream.start()
    },
  },
]

/** Waits until the edge processes, where there are some, are others than before, and the former ones are gone. */
async function roll(machine: Machine): Promise<void> {
  const former = (await machine.processesOf('edge')).map(({ pid }) => pid)
  process.kill(machine.program().pids()[0]!, 'SIGHUP')
  if (former.length === 0) return
  await eventually(async () => {
    const present = (await machine.processesOf('edge')).filter(({ ready }) => ready).map(({ pid }) => pid)
    return present.length === former.length && !present.some((pid) => former.includes(pid)) && !former.some(isRunning)
  }, ROLLED_TIMEOUT_MS)
}
