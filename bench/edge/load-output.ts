/** What a load generator found. `bad` answers make a round worthless; `example` says what they were. */
export type LoadResult = { done: number; bad: number; example?: string }

/** What h2load prints at its end. Anything but 2xx is bad, and so is an output that does not say. */
export function parseH2load(output: string): LoadResult {
  const [, done, failed, errored, timeout] = /(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/.exec(output) ?? []
  const [, ...others] = /\d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/.exec(output) ?? []
  if (done === undefined || others.length === 0) return { done: 0, bad: 1, example: output }
  const bad = [failed, errored, timeout, ...others].reduce((sum, count) => sum + Number(count), 0)
  return { done: Number(done), bad, ...(bad > 0 && { example: output }) }
}

/** What wrk prints at its end, also when it was interrupted. */
export function parseWrk(output: string): LoadResult {
  const [, done] = /(\d+) requests in /.exec(output) ?? []
  if (done === undefined) return { done: 0, bad: 1, example: output }
  const [, ...socket] = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output) ?? []
  const [, status = '0'] = /Non-2xx or 3xx responses: (\d+)/.exec(output) ?? []
  const bad = [...socket, status].reduce((sum, count) => sum + Number(count), 0)
  return { done: Number(done), bad, ...(bad > 0 && { example: output }) }
}

/**
 * The milliseconds that requests took, from h2load's --log-file (start in µs, status, µs to the end of the answer): those that began within
 * `forMs`, `afterMs` after the first of all. Throws when one of them was not answered with 2xx.
 */
export function parseRequestLog(text: string, window: { afterMs: number; forMs: number }): number[] {
  const rows = text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t').map(Number) as [number, number, number])
  const first = rows.reduce((least, [start]) => Math.min(least, start), Number.POSITIVE_INFINITY)
  const from = first + window.afterMs * 1_000
  const within = rows.filter(([start]) => start >= from && start < from + window.forMs * 1_000)
  const bad = within.find(([, status]) => status < 200 || status > 299)
  if (bad) throw new Error(`a request was answered with ${bad[1]}`)
  return within.map(([, , us]) => us / 1_000)
}
