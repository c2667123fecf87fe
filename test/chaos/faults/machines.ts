import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Fault } from '../fault.ts'
import { SMALL_DISK } from '../fleet.ts'
import { RULES } from '../rules.ts'

const HOLD_MS = 10_000
const JUMP_S = 300

/** A machine whose disk is full or whose clock jumps. */
export const MACHINES: readonly Fault[] = [
  {
    name: "an edge's disk is full",
    namespacesOnly: true,
    rule: RULES.unnoticed,
    async inflict({ fleet, hold }) {
      const ballast = join(fleet.machines[SMALL_DISK].dataDir, 'ballast')
      fill(ballast)
      await hold(HOLD_MS)
      rmSync(ballast)
    },
  },
  ...[JUMP_S, -JUMP_S].map(
    (jumpS): Fault => ({
      name: `clocks of an API, a worker and an edge jump ${Math.abs(jumpS)} s ${jumpS > 0 ? 'ahead' : 'back'}, and return`,
      rule: RULES.unnoticed,
      async inflict({ fleet, hold }) {
        const machines = [fleet.machines.api2, fleet.machines.worker2, fleet.machines.edge2]
        for (const machine of machines) machine.setClock(jumpS)
        await hold(HOLD_MS)
        for (const machine of machines) machine.setClock(0)
      },
    }),
  ),
]

function fill(path: string): void {
  const file = openSync(path, 'w')
  const block = Buffer.alloc(64 * 1024)
  try {
    for (;;) writeSync(file, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}
