import { endsLink } from './connection.ts'
import { createRetryPauses, retryAfterMsOf } from './retry-pauses.ts'

export type ServerEvent = { name: string; data: unknown }
export type StreamOptions = {
  path: string
  /** Token of a connect link; an EventSource could not send one. */
  token?: string
  /** What a page of somebody else's keeps to itself. */
  request?: Pick<RequestInit, 'credentials' | 'referrerPolicy'>
  onEvent(event: ServerEvent): void
  /** What is shown may be stale: the stream is up, and tells of nothing before that, or another try to open it has failed. Comes ever more rarely while none succeeds. */
  onStale(): void
  /** Whoever reads may not listen any more. The stream has ended. */
  onRefused(): void
}

type Outcome = { kind: 'refused' } | { kind: 'failed'; retryAfterMs: number } | { kind: 'lost'; livedMs: number }

const SETTLED_MS = 15_000 // a heartbeat of the service
const SILENCE_MS_MAX = 45_000 // three of them
const BUFFER_CHARS_MAX = 1_000_000
const SESSION_ENDED: readonly unknown[] = ['session_required', 'project_not_found']

/**
 * Follows a stream of server-sent events until the returned function is called, and returns to it after every loss: after two seconds at first, then
 * ever later until a stream has lived for a while, and never before the time that the service names. A stream that is silent for 45 seconds, or does not
 * begin within as many, is lost: the network may have dropped it without a word. Ends by itself when the service refuses it.
 */
export function followEvents(options: StreamOptions): () => void {
  const ended = new AbortController()
  void follow(options, ended.signal)
  return () => ended.abort()
}

async function follow(options: StreamOptions, signal: AbortSignal): Promise<void> {
  const pauses = createRetryPauses()
  while (!signal.aborted) {
    const outcome = await readOnce(options, signal)
    if (signal.aborted) return
    if (outcome.kind === 'refused') return options.onRefused()
    if (outcome.kind === 'failed') options.onStale()
    if (outcome.kind === 'lost' && outcome.livedMs >= SETTLED_MS) pauses.restart()
    await pause(pauses.nextMs(outcome.kind === 'failed' ? outcome.retryAfterMs : 0), signal)
  }
}

async function readOnce({ path, token, request, onEvent, onStale }: StreamOptions, signal: AbortSignal): Promise<Outcome> {
  const over = new AbortController()
  const end = () => over.abort()
  signal.addEventListener('abort', end, { signal: over.signal })
  let silence = setTimeout(end, SILENCE_MS_MAX)
  let openedAt: number | undefined
  try {
    const headers: Record<string, string> = { accept: 'text/event-stream' }
    if (token !== undefined) headers.authorization = `Connect ${token}`
    const answer = await fetch(path, { ...request, headers, signal: over.signal })
    if (!answer.ok || !answer.body) return await readFailure(answer)
    openedAt = performance.now()
    onStale()
    let buffer = ''
    for await (const chunk of chunksOf(answer.body)) {
      clearTimeout(silence)
      silence = setTimeout(end, SILENCE_MS_MAX)
      buffer += chunk
      const blocks = buffer.split(/\r?\n\r?\n/)
      buffer = blocks.pop() ?? ''
      if (buffer.length > BUFFER_CHARS_MAX) break
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event) onEvent(event)
      }
    }
  } catch {
    // Closed by us, or by the network.
  } finally {
    clearTimeout(silence)
    end()
  }
  return openedAt === undefined ? { kind: 'failed', retryAfterMs: 0 } : { kind: 'lost', livedMs: performance.now() - openedAt }
}

async function readFailure(answer: Response): Promise<Outcome> {
  const problem = (await answer.json().catch(() => undefined)) as { code?: unknown } | null | undefined
  const isRefused = endsLink(problem?.code) || SESSION_ENDED.includes(problem?.code)
  return isRefused ? { kind: 'refused' } : { kind: 'failed', retryAfterMs: retryAfterMsOf(answer) }
}

// Not every browser iterates a ReadableStream.
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield decoder.decode(value, { stream: true })
  }
}

function parseEvent(block: string): ServerEvent | undefined {
  let name = 'message'
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('event:')) name = line.slice(6).trim()
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
  }
  return data.length === 0 ? undefined : { name, data: JSON.parse(data.join('\n')) }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
