import { createOnce } from '../lib/once.ts'

/** A text that a label is to answer now. */
export type PendingText = { key: string; value: string }

export type PendingTexts = { find(label: string): Promise<readonly string[]>; state(): 'good' | 'failed' | 'unasked' }

const KEPT_MS = 500
const LOAD_TIMEOUT_MS = 2_000
const TEXTS_MAX = 50_000

type Held = { kind: 'good'; texts: ReadonlyMap<string, readonly string[]>; at: number } | { kind: 'failed'; error: unknown; at: number }

/**
 * The pending texts as they were at most half a second before the question. All of them are loaded at once: there are few, and whatever
 * strangers ask, the store is asked twice a second at most. `find` rejects when they cannot be loaded within two seconds.
 */
export function createPendingTexts(load: () => Promise<readonly PendingText[]>, now: () => number = () => performance.now()): PendingTexts {
  const once = createOnce<'all', Held>()
  let held: Held | undefined

  const reload = async (): Promise<Held> => {
    const at = now() // before the store is asked: what is written while it answers may be missing
    try {
      held = { kind: 'good', texts: group((await inTime(load())).slice(0, TEXTS_MAX)), at }
    } catch (error) {
      held = { kind: 'failed', error, at: now() }
    }
    return held
  }
  return {
    async find(label) {
      const current = held && now() - held.at < KEPT_MS ? held : await once('all', reload)
      if (current.kind === 'failed') throw current.error
      return current.texts.get(label) ?? []
    },
    state: () => held?.kind ?? 'unasked',
  }
}

function group(pending: readonly PendingText[]): Map<string, string[]> {
  const texts = new Map<string, string[]>()
  for (const { key, value } of pending) {
    const known = texts.get(key)
    if (known) known.push(value)
    else texts.set(key, [value])
  }
  return texts
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${LOAD_TIMEOUT_MS} ms`)), LOAD_TIMEOUT_MS)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
