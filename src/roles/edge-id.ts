import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { copyPath } from './copy-place.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The id of this machine among the edges, made once and kept beside the local copy. Where it cannot be kept, the next start makes another. */
export function keepEdgeId(config: Pick<Config, 'dataDir'>, log: Log): string {
  const path = join(dirname(copyPath(config)), 'edge-id')
  const known = readText(path)
  if (known && UUID.test(known)) return known
  const id = randomUUID()
  try {
    writeFileSync(path, `${id}\n`, { mode: 0o600 })
  } catch (error) {
    log.warn({ reason: (error as Error).message }, 'the id of this edge cannot be kept: after a restart it is listed anew')
  }
  return id
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
