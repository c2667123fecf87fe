/** As the promise, but rejects after `ms`, or when the signal is aborted; what comes later is ignored. */
export async function within<T>(ms: number, what: string, promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  const cut = Promise.withResolvers<never>()
  const timer = setTimeout(() => cut.reject(new Error(`${what} took more than ${ms} ms`)), ms)
  const onAbort = () => cut.reject(new Error(`${what} was given up`))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, cut.promise])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** As the pages, each within `ms`. */
export async function* pagesWithin<T>(ms: number, what: string, pages: AsyncIterable<T>, signal?: AbortSignal): AsyncIterable<T> {
  const iterator = pages[Symbol.asyncIterator]()
  let ended = false
  try {
    for (;;) {
      const next = await within(ms, what, iterator.next(), signal)
      ended = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    // Not awaited: a generator that hangs in its query would not hear of it, and we do not wait for it again.
    if (!ended) iterator.return?.().catch(() => {})
  }
}
