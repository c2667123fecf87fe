import { type ChildParts, spawnChild } from './child.ts'
import { closeDatabase, connectDatabase, databaseTrouble } from './core/db.ts'
import { pause } from './lib/back-off.ts'
import type { Log } from './log.ts'

export type DatabaseSetupParts = {
  url: string
  child: Omit<ChildParts, 'role' | 'sockets' | 'onMessage'>
  log: Log
  giveUp: AbortSignal
  /** What can be started without a database. Called once, when that cannot be reached. */
  whileDown(): Promise<void>
}

const RETRY_MS = 1_000
const FAILURES_MAX = 3
const TEMPORARY_FAILURE = 75 // EX_TEMPFAIL of sysexits(3): the database went away meanwhile

/**
 * Brings the database up to date in a process of its own (`setup`), trying each second while it cannot be reached.
 * False when told to give up. Rejects with the cause when the database can be reached and the setup still fails.
 */
export async function setUpDatabase({ url, child, log, giveUp, whileDown }: DatabaseSetupParts): Promise<boolean> {
  const db = connectDatabase(url, { applicationName: 'namesake supervisor', poolMax: 1 })
  let down = false
  try {
    for (let failures = 0; !giveUp.aborted; await pause(RETRY_MS, giveUp)) {
      const trouble = await databaseTrouble(db)
      if (trouble !== undefined) {
        if (!down)
          log.error({ reason: trouble }, 'the database cannot be reached: trying each second. The edge serves what it knows; the API waits')
        if (!down) void whileDown()
        down = true
        continue
      }
      const { code, reason, explained } = await runSetup(child, giveUp)
      if (giveUp.aborted) return false
      if (code === 0) {
        if (down) log.info('the database can be reached again')
        return true
      }
      failures += code === TEMPORARY_FAILURE ? 0 : 1
      if (failures >= FAILURES_MAX || explained) throw new Error(explained ? reason : `the database could not be set up: ${reason}`)
      log.warn(`the database could not be set up (${reason}): trying again`)
    }
    return false
  } finally {
    await closeDatabase(db)
  }
}

async function runSetup(parts: DatabaseSetupParts['child'], giveUp: AbortSignal) {
  let explained = false
  const child = spawnChild({
    ...parts,
    role: 'setup',
    sockets: {},
    onMessage: (message) => {
      explained ||= message.type === 'failed'
    },
  })
  const end = () => child.signal('SIGTERM')
  giveUp.addEventListener('abort', end, { once: true })
  const ending = await child.ended
  giveUp.removeEventListener('abort', end)
  return { ...ending, explained }
}
