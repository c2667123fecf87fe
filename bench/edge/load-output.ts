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
 * The milliseconds that requests took, from h2load's --log-file (start in µs, status, µs to the end of the answer): for each of the windows of
 * `windowMs` that fit into `forMs`, `afterMs` after the first request of all, those that began in it. Throws when one was not answered with 2xx.
 */
export function parseRequestLog(
  text: string,
  { afterMs, forMs, windowMs }: { afterMs: number; forMs: number; windowMs: number },
): number[][] {
  const rows = text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t').map(Number) as [number, number, number])
  const from = rows.reduce((least, [start]) => Math.min(least, start), Number.POSITIVE_INFINITY) + afterMs * 1_000
  const windows = Array.from({ length: Math.floor(forMs / windowMs) }, () => [] as number[])
  for (const [start, status, us] of rows) {
    const window = windows[Math.floor((start - from) / (windowMs * 1_000))]
    if (!window) continue
    if (status < 200 || status > 299) throw new Error(`a request was answered with ${status}`)
    window.push(us / 1_000)
  }
  return windows
}
