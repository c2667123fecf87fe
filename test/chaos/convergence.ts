import { pause } from '../../src/lib/back-off.ts'
import type { Chance } from './chance.ts'
import { call } from './claims.ts'
import { type Fleet, isServed } from './fleet.ts'
import type { Known } from './load.ts'
import { EDGES, type EdgeName } from './machines.ts'
import { visitHttp1 } from './visits.ts'

/** How long after the fault's end every edge knew what was claimed and removed after it. `sentence`: which edge was last, and with what. */
export type Convergence = { kind: 'converged'; afterMs: number; sentence: string } | { kind: 'failed'; sentence: string }

/** A hostname that is served now and removed at the next convergence; the newcomer takes its place. */
export type Relay = { leaver: Known }

const DEADLINE_MS = 45_000
const EVERY_MS = 100

/**
 * Claims a hostname and removes another, each at a machine chosen by chance and until it is acknowledged; then visits every edge until the
 * first is served there, with its certificate, and the second refused.
 */
export async function awaitConvergence(fleet: Fleet, relay: Relay, chance: Chance, name: string): Promise<Convergence> {
  const begun = performance.now()
  const newcomer: Known = { hostname: `www.${name}.test`, project: chance.of(fleet.projects).slug }
  const { leaver } = relay
  const within = async (what: string, ask: () => Promise<boolean>): Promise<{ what: string; ms: number }> => {
    let last: unknown
    while (performance.now() - begun < DEADLINE_MS) {
      try {
        if (await ask()) return { what, ms: performance.now() - begun }
      } catch (error) {
        last = error
      }
      await pause(EVERY_MS)
    }
    throw new Error(`${what}: not within ${DEADLINE_MS / 1_000} s${last ? ` (${(last as Error).message})` : ''}`)
  }
  const claimed = within(`${newcomer.hostname} claimed`, async () => {
    return (await call(chance.of(fleet.apisOf(newcomer.project)), 'POST', '/v1/edge/domains', { hostname: newcomer.hostname })) === 200
  })
  const removed = within(`${leaver.hostname} removed`, async () => {
    const status = await call(chance.of(fleet.apisOf(leaver.project)), 'DELETE', `/v1/edge/domains/${leaver.hostname}`)
    return status === 204 || status === 404 // the answer to the first try may have been lost
  })
  const steps = EDGES.flatMap((edge) => [
    claimed.then(() => within(`${newcomer.hostname} served by ${edge}`, () => isServed(fleet, edge, newcomer))),
    removed.then(() => within(`${leaver.hostname} refused by ${edge}`, () => isRefused(fleet, edge, leaver))),
  ])
  const outcomes = await Promise.allSettled([claimed, removed, ...steps])
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  relay.leaver = newcomer
  if (failed) return { kind: 'failed', sentence: (failed.reason as Error).message }
  const done = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const last = done.reduce((late, one) => (one.ms > late.ms ? one : late))
  return { kind: 'converged', afterMs: last.ms, sentence: `${last.what} last` }
}

/** No certificate is shown for it any more; a connection that cannot be made does not count. */
async function isRefused(fleet: Fleet, edge: EdgeName, { hostname }: Known): Promise<boolean> {
  try {
    const { status } = await visitHttp1({ address: fleet.addressOf(edge), hostname, root: fleet.root }, '/is-refused')
    return status === 404
  } catch (error) {
    return /handshake failure/.test((error as Error).message)
  }
}
