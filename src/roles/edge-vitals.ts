import type { Vitals } from '../replica/acknowledgements.ts'

/** What an edge process says of its work; `load` is the processor time of the time since it was last asked. */
export function createVitals(connections: () => number): () => Vitals {
  let since = { at: performance.now(), cpu: process.cpuUsage() }
  return () => {
    const now = { at: performance.now(), cpu: process.cpuUsage() }
    const busyMs = (now.cpu.user + now.cpu.system - since.cpu.user - since.cpu.system) / 1_000
    const load = busyMs / Math.max(1, now.at - since.at)
    since = now
    return { connections: connections(), load }
  }
}
