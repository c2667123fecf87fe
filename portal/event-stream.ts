export type ServerEvent = { name: string; data: unknown }
export type StreamOptions = {
  path: string
  /** Token of a connect link; an EventSource could not send one. */
  token?: string
  onEvent(event: ServerEvent): void
  /** The stream is up again after a gap: whatever was shown may be stale. */
  onReturn(): void
  /** The service refused the stream, which has ended. */
  onRefused?(): void
}

const RETRY_FIRST_MS = 2_000
const RETRY_MAX_MS = 30_000
const BUFFER_CHARS_MAX = 1_000_000

/** Follows a stream of server-sent events until the returned function is called, and returns to it after every loss. Ends by itself on 4xx. */
export function followEvents(options: StreamOptions): () => void {
  const ended = new AbortController()
  void follow(options, ended.signal)
  return () => ended.abort()
}

async function follow(options: StreamOptions, signal: AbortSignal): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  for (let n = 0; !signal.aborted; n++) {
    const outcome = await readOnce(options, signal, () => {
      retryMs = RETRY_FIRST_MS
      if (n > 0) options.onReturn()
    })
    if (outcome === 'refused') return options.onRefused?.()
    await pause(retryMs, signal)
    retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
  }
}

async function readOnce({ path, token, onEvent }: StreamOptions, signal: AbortSignal, onOpen: () => void): Promise<'lost' | 'refused'> {
  try {
    const headers: Record<string, string> = { accept: 'text/event-stream' }
    if (token !== undefined) headers.authorization = `Connect ${token}`
    const answer = await fetch(path, { headers, signal })
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) return 'refused'
    if (!answer.ok || !answer.body) return 'lost'
    onOpen()
    let buffer = ''
    for await (const chunk of chunksOf(answer.body)) {
      buffer += chunk
      const blocks = buffer.split(/\r?\n\r?\n/)
      buffer = blocks.pop() ?? ''
      if (buffer.length > BUFFER_CHARS_MAX) return 'lost'
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event) onEvent(event)
      }
    }
  } catch {
    // Closed by us, or by the network.
  }
  return 'lost'
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
