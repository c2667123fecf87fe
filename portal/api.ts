/** Whether the service answers. */
export type Health = { kind: 'up' } | { kind: 'down' }

const HEALTH_TIMEOUT_MS = 5_000

/** Where the API is called: the portal and the API answer at the same addresses. */
export const API_URL = window.location.origin

/** Asks the health endpoint; never rejects. */
export async function readHealth(): Promise<Health> {
  try {
    const answer = await fetch('/healthz', { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) })
    const { status } = (await answer.json()) as { status?: string }
    return status === 'ok' ? { kind: 'up' } : { kind: 'down' }
  } catch {
    return { kind: 'down' }
  }
}
