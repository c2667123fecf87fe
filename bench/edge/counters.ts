/** What is counted at the upstream, which no proxy can change. */
export type Counted = 'requests' | 'uploads' | 'messages'

export type Counters = (counted: Counted) => Promise<number>

/** Reads nginx's stub_status, where an upload shows as two requests, and our echo server's own count. */
export function readCounters(upstream: number, echo: number): Counters {
  const ask = async (port: number) => (await fetch(`http://127.0.0.1:${port}/counted-here`)).text()
  const requests = async () => Number(/(\d+) \n?Reading/.exec(await ask(upstream))![1])
  return async (counted) => {
    if (counted === 'messages') return Number(await ask(echo))
    return counted === 'uploads' ? (await requests()) / 2 : requests()
  }
}
