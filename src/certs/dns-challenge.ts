import { createHash } from 'node:crypto'
import type { Hostname } from '../hostname.ts'
import { pause } from '../lib/back-off.ts'
import { explainAbort } from './acme-http.ts'
import type { ChallengeSolver } from './authority.ts'
import { ownFault } from './problem.ts'

export type DnsSolverParts = {
  /** The label below our zone that the hostname's challenges are delegated to; undefined where there is none. */
  labelOf(hostname: Hostname): Promise<string | undefined>
  present(text: { key: string; value: string }): Promise<void>
  withdraw(text: { key: string; value: string }): Promise<void>
  /** The texts that each of our name servers gives for a label now; undefined of one that does not answer us. */
  resolve(label: string): Promise<readonly (readonly string[] | undefined)[]>
}

const LOOKS_TIMEOUT_MS = 10_000
const LOOK_EVERY_MS = 200

/** The text that answers a DNS-01 challenge (RFC 8555 §8.4). */
export function dnsTextOf(keyAuthorization: string): string {
  return createHash('sha256').update(keyAuthorization).digest('base64url')
}

/**
 * Meets DNS-01 challenges that are delegated to our own zone: the text is there for every name server of ours, and is looked for until those
 * that answer have it, ten seconds at most. Where none answers us at all the authority may still reach them, so that is no refusal.
 */
export function createDnsSolver(parts: DnsSolverParts): ChallengeSolver {
  return {
    type: 'dns-01',
    async present({ hostname, keyAuthorization }, signal) {
      const label = await parts.labelOf(hostname)
      if (label === undefined) throw ownFault('notDelegated', `the challenges of ${hostname} are not delegated to this installation`)
      const value = dnsTextOf(keyAuthorization)
      await parts.present({ key: label, value })
      const endsAt = performance.now() + LOOKS_TIMEOUT_MS
      for (;;) {
        const heard = (await parts.resolve(label)).filter((texts) => texts !== undefined)
        if (heard.length > 0 && heard.every((texts) => texts.includes(value))) return
        if (performance.now() > endsAt) {
          if (heard.length === 0) return
          throw ownFault(
            'challengeNotServed',
            `our own name servers do not show the challenge of ${hostname}: look whether the role dns runs`,
          )
        }
        await pause(LOOK_EVERY_MS, signal)
        if (signal.aborted) throw explainAbort(signal)
      }
    },
    async withdraw({ hostname, keyAuthorization }) {
      try {
        const label = await parts.labelOf(hostname)
        if (label !== undefined) await parts.withdraw({ key: label, value: dnsTextOf(keyAuthorization) })
      } catch {
        // It ends by itself in ten minutes.
      }
    },
  }
}
