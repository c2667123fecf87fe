import type { Log } from '../log.ts'

export const OUTAGES_UNTIL_GIVEN_UP = 3
export const GIVEN_UP_FIRST_MS = 60_000
export const GIVEN_UP_MAX_MS = 15 * 60_000
/** Where nobody else can be asked, one order tries so often. */
export const INSISTING_EVERY_MS = 15_000
/** What waits for an authority comes back spread over so long, so that one that has healed is not stormed. */
export const COMEBACK_SPREAD_S = 300

/** `trial`: it was given up, and this one order finds out whether it is back. `pass`: no order goes there for about so long. */
export type Standing = { kind: 'up' } | { kind: 'trial' } | { kind: 'pass'; retryAfterS: number }

/**
 * Which authorities answer, as the orders of this process find out. One that fails several times in a row is passed over for a minute, then
 * one order tries it again; each trial that fails doubles the time, to a quarter of an hour. The first that delivers makes it whole.
 */
export type AuthorityHealth = {
  /** Whether an order may go there now. After `up` or `trial` its end is to be told by `note`. `insist`: nobody else can be asked, so it is tried before its time, by one order. */
  ask(directory: string, options?: { insist?: boolean }): Standing
  /** `answered`: it did its work, whatever it said. `outage`: it did not. `unknown`: it was not put to the test. */
  note(directory: string, outcome: 'answered' | 'outage' | 'unknown'): void
  isUp(directory: string): boolean
}

type Circuit = { outages: number; givenUpMs: number; untilMs: number; trialUntilMs: number; lastTriedMs: number }

const TRIAL_MAX_MS = 180_000 // an order that never told its end does not keep an authority given up for good

export function createAuthorityHealth(parts: {
  log: Pick<Log, 'warn' | 'info'>
  nowMs?: () => number
  random?: () => number
}): AuthorityHealth {
  const { log, nowMs = () => performance.now(), random = Math.random } = parts
  const circuits = new Map<string, Circuit>()
  const circuitOf = (directory: string): Circuit => {
    const circuit = circuits.get(directory) ?? { outages: 0, givenUpMs: 0, untilMs: 0, trialUntilMs: 0, lastTriedMs: 0 }
    circuits.set(directory, circuit)
    return circuit
  }

  return {
    ask(directory, { insist = false } = {}) {
      const circuit = circuitOf(directory)
      if (circuit.givenUpMs === 0) return { kind: 'up' }
      const now = nowMs()
      const onTrial = circuit.trialUntilMs > now
      const mayInsist = insist && circuit.lastTriedMs + INSISTING_EVERY_MS <= now
      if (!onTrial && (mayInsist || circuit.untilMs <= now)) {
        circuit.trialUntilMs = now + TRIAL_MAX_MS
        return { kind: 'trial' }
      }
      const waitS = Math.max(0, circuit.untilMs - now) / 1_000
      return { kind: 'pass', retryAfterS: Math.ceil(waitS + 1 + random() * COMEBACK_SPREAD_S) }
    },
    note(directory, outcome) {
      const circuit = circuitOf(directory)
      const wasOnTrial = circuit.trialUntilMs > 0
      if (outcome === 'unknown') {
        circuit.trialUntilMs = 0
        return
      }
      if (outcome === 'answered') {
        if (circuit.givenUpMs > 0) log.info({ directory }, 'the certificate authority is back')
        circuits.delete(directory)
        return
      }
      circuit.outages++
      const isFirst = circuit.givenUpMs === 0 && circuit.outages >= OUTAGES_UNTIL_GIVEN_UP
      if (!isFirst && !wasOnTrial) return // an order that began before it was given up is no news
      const now = nowMs()
      circuit.lastTriedMs = now
      circuit.trialUntilMs = 0
      if (circuit.untilMs > now) return // tried before its time
      circuit.givenUpMs = isFirst ? GIVEN_UP_FIRST_MS : Math.min(GIVEN_UP_MAX_MS, circuit.givenUpMs * 2)
      circuit.untilMs = now + circuit.givenUpMs
      if (isFirst)
        log.warn({ directory }, 'the certificate authority does not answer and is passed over; it is tried again every few minutes')
    },
    isUp: (directory) => (circuits.get(directory)?.givenUpMs ?? 0) === 0,
  }
}
