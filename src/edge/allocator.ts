import { existsSync } from 'node:fs'
import { readOwnProc } from '../lib/own-proc.ts'

/** Where Debian, Ubuntu and other distributions put it: their packages are called libjemalloc2, or jemalloc. */
const PLACES: readonly (string | undefined)[] = [
  { x64: '/usr/lib/x86_64-linux-gnu', arm64: '/usr/lib/aarch64-linux-gnu' }[process.arch as string],
  '/usr/lib64',
  '/usr/lib',
]
const LIBRARY = 'libjemalloc.so.2'

/** The memory allocator that edge processes take instead of the C library's, where it is installed (docs/decisions/0088). */
export function findAllocator(places = PLACES): string | undefined {
  return places.map((place) => `${place}/${LIBRARY}`).find((file) => existsSync(file))
}

/** What makes a process take it. One arena: a process has one thread that asks for much, and each further arena holds memory of its own. */
export function allocatorEnvironment(places = PLACES): Readonly<Record<string, string>> {
  const file = findAllocator(places)
  return file === undefined ? {} : { LD_PRELOAD: file, MALLOC_CONF: 'narenas:1' }
}

/** Whether this process allocates with it; an `LD_PRELOAD` of the operator's may have put another one before it. On Bun, which brings its own, nothing does. */
export function runsOnJemalloc(): boolean {
  return process.versions.bun === undefined && readOwnProc('maps').includes(LIBRARY)
}
