import { expect, test } from 'vitest'
import { parseH2load, parseRequestLog, parseWrk } from './load-output.ts'

const H2LOAD = `
finished in 1.00s, 831.00 req/s, 123.35KB/s
requests: 831 total, 835 started, 831 done, 831 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 831 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 123.35KB (126312) total, 88.07KB (90180) headers (space savings 0.00%), 4.08KB (4175) data
`
const WRK = `Running 10s test @ https://n0000000.bench.localhost:8443/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     4.00ms    1.00ms  20.00ms   90.00%
    Req/Sec    12.00k     1.00k   13.00k    90.00%
  18000 requests in 1.50s, 15.00MB read
`

test('of h2load, every 2xx answer is good', () => {
  expect(parseH2load(H2LOAD)).toEqual({ done: 831, bad: 0 })
})

test('of h2load, errors, other statuses and silence are bad', () => {
  expect(parseH2load(H2LOAD.replace('2 failed', '').replace('0 errored', '2 errored')).bad).toBe(2)
  expect(parseH2load(H2LOAD.replace('0 5xx', '7 5xx')).bad).toBe(7)
  expect(parseH2load('').bad).toBe(1)
})

test('of wrk, an output without a word about errors is good', () => {
  expect(parseWrk(WRK)).toEqual({ done: 18_000, bad: 0 })
})

test('of wrk, lost connections and other statuses are bad', () => {
  expect(parseWrk(`${WRK}  Socket errors: connect 0, read 3, write 0, timeout 1\n`).bad).toBe(4)
  expect(parseWrk(`${WRK}  Non-2xx or 3xx responses: 5\n`).bad).toBe(5)
  expect(parseWrk('unable to connect').bad).toBe(1)
})

const LOG = '1000000\t200\t9000\n1100000\t200\t1500\n1150000\t200\t2500\n1200000\t200\t3500\n1300000\t200\t9000\n'

test('a log of requests gives the times of those that began in each window', () => {
  expect(parseRequestLog(LOG, { afterMs: 50, forMs: 200, windowMs: 100 })).toEqual([[1.5], [2.5, 3.5]])
  expect(parseRequestLog(LOG, { afterMs: 50, forMs: 199, windowMs: 100 })).toEqual([[1.5]])
})

test('a log of requests with a failed one in a window is refused', () => {
  const log = LOG.replace('1300000\t200', '1300000\t502')
  expect(() => parseRequestLog(log, { afterMs: 0, forMs: 400, windowMs: 200 })).toThrow('502')
  expect(parseRequestLog(log, { afterMs: 0, forMs: 200, windowMs: 200 })).toHaveLength(1)
})
