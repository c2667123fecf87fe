import { readFileSync } from 'node:fs'

/** What /proc says of this process (proc(5)); empty where it is not mounted or hidden. */
export function readOwnProc(file: 'limits' | 'maps'): string {
  try {
    return readFileSync(`/proc/self/${file}`, 'utf8')
  } catch {
    return ''
  }
}
