/**
 * How node is started for a process that runs the edge. A small young generation lets go of the buffers of bodies that passed through: with node's
 * own choice 64 MB of them pile up before anybody looks. And V8 is not to learn where objects live long, to make them among the old ones: a few
 * uploads teach it that of requests, and each one costs up to a fifth more for as long as the process lives (docs/decisions/0086). Nor is it to
 * throw away compiled code while nobody asks, or to make the heap as small as it can be after eight seconds: whoever asks next would pay for both
 * (docs/decisions/0090). And nothing here asks for what was stored for an asynchronous call (AsyncLocalStorage): a frame for it with each read and
 * write costs a hundredth of a request.
 */
export const EDGE_NODE_FLAGS = [
  '--min-semi-space-size=16',
  '--max-semi-space-size=16',
  '--no-allocation-site-pretenuring',
  '--no-flush-bytecode',
  '--gc-memory-reducer-start-delay-ms=60000',
  '--no-async-context-frame',
]

/**
 * Look-ups of upstreams take threads of libuv's, half of them: with its four, two names that time out would hold up all others, a database's too. So many
 * that the fifty projects of one person, whose names nobody answers for, leave some free (`upstream-addresses.ts`).
 */
export const LOOKUP_THREADS = { UV_THREADPOOL_SIZE: '256' }

/**
 * What stands in its environment. A TLS context is thousands of small blocks of memory, and glibc has only seven freed ones of a size at hand for a
 * thread: for more it searches and joins its free memory (glibc's manual, Memory Allocation Tunables). Another C library pays no heed.
 */
export const EDGE_ENVIRONMENT = { ...LOOKUP_THREADS, GLIBC_TUNABLES: 'glibc.malloc.tcache_count=500' }
