import type { Hostname } from '../hostname.ts'

export type NameUses = { note(hostname: Hostname): void; close(): void }

const TELL_INTERVAL_MS = 10_000
const FORGET_INTERVAL_MS = 600_000
const NOTED_MAX = 100_000

/**
 * Tells a bounded copy's follower, seldom, which names this process has read from the copy. `forget` is called every ten minutes: what the
 * process goes on using it then reads, and notes, again, so that a name in use is never the least recently used for longer than that.
 */
export function createNameUses(parts: { tell(hostnames: Hostname[]): void; forget(): void }): NameUses {
  const noted = new Set<Hostname>()
  const tell = () => {
    if (noted.size === 0) return
    parts.tell([...noted])
    noted.clear()
  }
  const timers = [setInterval(tell, TELL_INTERVAL_MS).unref(), setInterval(parts.forget, FORGET_INTERVAL_MS).unref()]
  return {
    note(hostname) {
      if (noted.size < NOTED_MAX) noted.add(hostname)
    },
    close() {
      for (const timer of timers) clearInterval(timer)
    },
  }
}
