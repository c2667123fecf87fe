import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nameAt } from '../support/numbered-names.ts'
import type { Peer } from '../support/peers.ts'

export const ZONE = 'bench.localhost'
/** So many names have a certificate of their own; the first of them is the hot one, whose certificate covers all of the zone. */
export const NAMES_WITH_CERTIFICATE = 10_000
export const NAMES_MAX = 1_000_000
export const HOT = nameAt(ZONE, 0)
/** The hostname whose upstream speaks WebSocket. */
export const SOCKETS = nameAt(ZONE, 9_999_999)
/** What the upstream answers to anything but a file. */
export const BODY = 'x'.repeat(700)
/** The files that it has, by size. */
export const FILES = { '16k': 16 * 1024, '1m': 1024 * 1024 }

const URLS = 200

/** The folder of one run: configurations, certificates, logs, bodies. */
export type Place = { dir: string; filesDir: string; urlsFile: string; sessionsFile(proxy: Peer): string; remove(): void }

export function makePlace(): Place {
  const dir = mkdtempSync(join(tmpdir(), 'namesake-bench-'))
  chmodSync(dir, 0o755) // nginx's worker gives up root
  const filesDir = join(dir, 'files')
  mkdirSync(filesDir)
  for (const [name, bytes] of Object.entries(FILES)) writeFileSync(join(filesDir, name), Buffer.alloc(bytes, 'x'))
  const urlsFile = join(dir, 'urls')
  writeFileSync(urlsFile, Array.from({ length: URLS }, (_, i) => `https://${HOT}${pathAt(i)}\n`).join(''))
  return {
    dir,
    filesDir,
    urlsFile,
    sessionsFile: ({ port }) => join(dir, `sessions-${port}.json`),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** Paths as a shop's pages load them: some short, some with a query. */
function pathAt(i: number): string {
  if (i % 4 === 0) return `/products/${i}/details?colour=green&size=${i % 7}&page=${i}`
  return `/assets/${['js', 'css', 'img'][i % 3]}/module-${i}.${(i * 2_654_435_761).toString(16)}.min.js`
}
