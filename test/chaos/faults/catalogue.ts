import type { Fault } from '../fault.ts'
import { DATABASES } from './databases.ts'
import { DEPLOYS } from './deploys.ts'
import { FLOODS } from './floods.ts'
import { KILLS } from './kills.ts'
import { LINKS } from './links.ts'
import { MACHINES } from './machines.ts'

/** Every fault, in the order in which they happen. */
export const FAULTS: readonly Fault[] = [...KILLS, ...DEPLOYS, ...LINKS, ...MACHINES, ...FLOODS, ...DATABASES]

/** Those whose names hold all the words, whatever their case; of the short version alone where it is asked for. */
export function chooseFaults({ short, words }: { short: boolean; words: readonly string[] }): Fault[] {
  const wanted = words.map((word) => word.toLowerCase())
  return FAULTS.filter((fault) => (!short || fault.short) && wanted.every((word) => fault.name.toLowerCase().includes(word)))
}
