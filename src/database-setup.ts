import { type ChildParts, spawnChild } from './child.ts'
import { closeDatabase, connectDatabase, databaseTrouble } from './core/db.ts'
import { backOffMs, pause } from './lib/back-off.ts'
import type { Log } from './log.ts'
import { BACK_OFF, SAID_AGAIN_AFTER } from './own-database.ts'

export type DatabaseSetupParts = {
  url: string
  child: Omit<ChildParts, 'role' | 'sockets' | 'onMessage'>
  log: Log
  giveUp: AbortSignal
  /** What can be started without a database. Called once, when that cannot be reached. */
  whileDown(): Promise<void>
  /** Whether visitors are served meanwhile, whom the end of the start would cut off. */
  servesAlone: boolean
  /** Whether anything waits for the database. Else one that cannot be reached is left to those who serve without it. */
  isAwaited: boolean
}

const RETRY_MS = 1_000
const FAILURES_MAX = 3
const SERVED_MEANWHILE =
  'the database could not be set up. The edges serve from the local copy; the API and the workers wait. Mend what the lines of setup say: it is tried again within half a minute, and nothing has to be restarted but for another release'
const TEMPORARY_FAILURE = 75 // EX_TEMPFAIL of sysexits(3): the database went away meanwhile

/**
 * Brings the database up to date in a process of its own (`setup`), trying each second while it cannot be reached.
 * True when that is done, or need not be; false when told to give up. Rejects with the cause when the database can be reached and the setup still fails: at once where the operator's settings are
 * the cause, else after some tries, or never where visitors are served meanwhile.
 */
export async function setUpDatabase({ url, child, log, giveUp, whileDown, servesAlone, isAwaited }: DatabaseSetupParts): Promise<boolean> {
  const db = connectDatabase(url, { applicationName: 'namesake supervisor', poolMax: 1 })
  let down = false
  let failures = 0
  let waitMs = RETRY_MS
  try {
    for (; !giveUp.aborted; await pause(waitMs, giveUp)) {
      waitMs = RETRY_MS
      const trouble = await databaseTrouble(db)
      if (trouble !== undefined && !isAwaited) {
        log.warn({ reason: trouble }, 'the database cannot be reached: the edge serves what it knows, and goes on when it can be again')
        return true
      }
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
        if (failures >= FAILURES_MAX) log.info('the database has been set up')
        return true
      }
      if (explained) throw new Error(reason)
      const isTemporary = code === TEMPORARY_FAILURE
      if (!isTemporary) {
        failures += 1
        waitMs = backOffMs(failures, BACK_OFF)
      }
      if (isTemporary || failures < FAILURES_MAX) log.warn(`the database could not be set up (${reason}): trying again`)
      else if (!servesAlone) throw new Error(`the database could not be set up: ${reason}`)
      else if (failures === FAILURES_MAX || failures % SAID_AGAIN_AFTER === 0) log.error({ reason }, SERVED_MEANWHILE)
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
