import { pause } from '../../src/lib/back-off.ts'
import type { Chance } from './chance.ts'

/** The control plane as a vendor's application sees it, at one machine. */
export type Api = { url: string; token: string }

/** What became of a hostname, as far as its vendor was told. `unknown`: no answer came, so both are right. */
type Fate = 'claimed' | 'removed' | 'unknown'

export type ClaimsCheck = { acknowledged: number; missing: string[] }

/** Vendors that claim and remove hostnames without end, and remember what was acknowledged. */
export type Claims = {
  /** So many more at once and as fast as they are answered, for so long; resolves with how many were acknowledged. */
  flood(lanes: number, ms: number): Promise<number>
  /** Holds every acknowledged write so far against what the API lists. */
  check(): Promise<ClaimsCheck>
  /** What was acknowledged from here on may be lost, until this is called with `false`: the database is about to go back in time. */
  mayBeForgotten(isSo: boolean): void
  stop(): Promise<void>
}

const EVERY_MS = 250
const REMOVED_SHARE = 0.2
const CALL_TIMEOUT_MS = 5_000
const LIST_TIMEOUT_MS = 20_000

/** One vendor at each API. Their hostnames have no DNS, so that no certificate is ordered for them. */
export function startClaims(apis: readonly Api[], chance: Chance): Claims {
  const fates = new Map<string, Fate>()
  let stopped = false
  let numbers = 0
  let forgetful = false
  let acknowledged = 0

  const tell = (hostname: string, fate: Fate) => void fates.set(hostname, forgetful ? 'unknown' : fate)
  const claim = async (api: Api): Promise<boolean> => {
    const hostname = `c${numbers++}.absent.test`
    tell(hostname, 'unknown')
    if ((await call(api, 'POST', '/v1/edge/domains', { hostname })) !== 200) return false
    acknowledged += 1
    tell(hostname, 'claimed')
    return true
  }
  const remove = async (api: Api): Promise<void> => {
    const hostname = `c${chance.below(numbers)}.absent.test`
    if (fates.get(hostname) !== 'claimed') return
    tell(hostname, 'unknown')
    if ((await call(api, 'DELETE', `/v1/edge/domains/${hostname}`)) !== 204) return
    acknowledged += 1
    tell(hostname, 'removed')
  }
  const run = async (api: Api) => {
    while (!stopped) {
      await (chance.share() < REMOVED_SHARE ? remove(api) : claim(api))
      await pause(EVERY_MS)
    }
  }
  const lanes = apis.map(run)

  return {
    async flood(count, ms) {
      const until = performance.now() + ms
      let answered = 0
      const pour = async (lane: number) => {
        while (performance.now() < until) if (await claim(apis[lane % apis.length]!)) answered += 1
      }
      await Promise.all(Array.from({ length: count }, (_, lane) => pour(lane)))
      return answered
    },
    async check() {
      const before = [...fates] // what is written while the list is read, is for the next check
      const listed = new Set(await list(chance.of(apis)))
      const missing = before.flatMap(([hostname, fate]) => {
        if (fates.get(hostname) !== fate) return []
        if (fate === 'claimed' && !listed.has(hostname)) return [`${hostname} is gone`]
        return fate === 'removed' && listed.has(hostname) ? [`${hostname} is back`] : []
      })
      for (const sentence of missing) fates.delete(sentence.split(' ')[0]!) // told once
      const check = { acknowledged, missing }
      acknowledged = 0
      return check
    },
    mayBeForgotten(isSo) {
      forgetful = isSo
    },
    async stop() {
      stopped = true
      await Promise.all(lanes)
    },
  }
}

/** The answer's status; 0 when there was none in time. */
export async function call(api: Api, method: string, path: string, body?: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${api.token}`, ...(body ? { 'content-type': 'application/json' } : {}) }
  const init = { method, headers, signal: AbortSignal.timeout(CALL_TIMEOUT_MS), ...(body ? { body: JSON.stringify(body) } : {}) }
  try {
    const answer = await fetch(`${api.url}${path}`, init)
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return 0
  }
}

/** The domain as the API shows it, for whoever wonders why it is not served. */
export async function show({ url, token }: Api, hostname: string): Promise<string> {
  const init = { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) }
  return fetch(`${url}/v1/edge/domains/${hostname}`, init).then((answer) => answer.text(), String)
}

async function list({ url, token }: Api): Promise<string[]> {
  const answer = await fetch(`${url}/v1/edge/domains`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(LIST_TIMEOUT_MS),
  })
  if (!answer.ok) throw new Error(`the hostnames could not be listed: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { hostname: string }[]).map(({ hostname }) => hostname)
}
