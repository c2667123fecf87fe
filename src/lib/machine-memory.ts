import { totalmem } from 'node:os'

/** What all processes of this machine share, bytes: its memory, or what a control group holds us to where that is less. */
export function machineMemory(): number {
  const allowed = process.constrainedMemory()
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
}
