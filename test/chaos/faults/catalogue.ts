import type { Fault } from '../fault.ts'
import { DATABASES } from './databases.ts'
import { DEPLOYS } from './deploys.ts'
import { FLOODS } from './floods.ts'
import { KILLS } from './kills.ts'
import { LINKS } from './links.ts'
import { MACHINES } from './machines.ts'

/** Every fault, in the order in which they happen. */
export const FAULTS: readonly Fault[] = [...KILLS, ...DEPLOYS, ...LINKS, ...MACHINES, ...FLOODS, ...DATABASES]

/** Those whose names hold all the words of one of the groups, whatever their case; of the short version alone where it is asked for. */
export function chooseFaults({ short, only }: { short: boolean; only: string }): Fault[] {
  const groups = only
    .toLowerCase()
    .split(',')
    .map((group) => group.split(' ').filter(Boolean))
  return FAULTS.filter(
    (fault) => (!short || fault.short) && groups.some((group) => group.every((word) => fault.name.toLowerCase().includes(word))),
  )
}
