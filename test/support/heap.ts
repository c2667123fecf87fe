import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What JavaScript's living objects take, after a collection of all others. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
