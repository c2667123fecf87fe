import type { Config } from '../config.ts'
import { type DirectoryBudget, readBudgets, readWaiting, type Waiting } from '../core/budget-report.ts'
import { type CertificateHealth, readCertificateHealth } from '../core/certificate-health.ts'
import { listCertificates } from '../core/certificate-inventory.ts'
import { ownCommand } from '../own-command.ts'
import { type Check, lookInDatabase } from './installation-checks.ts'
import { shownTime } from './output.ts'

const ROOM_LOW_SHARE = 1 / 10
const DAY_S = 86_400

/** Whether certificates end that should have been renewed, and whether an authority's limit leaves room. Nothing where there is no database. */
export async function checkCertificates(config: Config): Promise<Check[]> {
  return lookInDatabase(config, 'certificates', async (db) => {
    const health = await readCertificateHealth(db)
    const waiting = await readWaiting(db)
    const budgets = await readBudgets(db, config.acmeDirectories)
    const { total: failed } = await listCertificates(db, { state: 'failed', limit: 1 })
    return [judgeCertificates(health, failed), ...budgets.flatMap(judgeBudget), ...judgeWaiting(waiting)]
  })
}

function judgeCertificates({ expiring, overdue, stopped, soonest }: CertificateHealth, failed: number): Check {
  const name = 'certificates'
  const look = `Which, and why: ${ownCommand()} certificates list`
  const ofADay = expiring[0]!.count
  if (ofADay > 0)
    return {
      name,
      state: 'bad',
      sentence: `${count(ofADay, 'certificate')} in service ${ofADay === 1 ? 'has' : 'have'} ended or will within a day. ${look}`,
    }
  if (overdue > 0)
    return {
      name,
      state: 'doubtful',
      sentence: `${count(overdue, 'certificate')} should have been renewed by now and could not be. ${look}`,
    }
  const without = failed > 0 ? `; ${count(failed, 'hostname')} could get none: ${ownCommand()} certificates list --state failed` : ''
  if (soonest.length === 0) return { name, state: 'good', sentence: `none is in service yet${without}` }
  const ended =
    stopped > 0 ? `; ${count(stopped, 'certificate')} ended long ago, as the DNS left, and ${stopped === 1 ? 'is' : 'are'} not renewed` : ''
  return {
    name,
    state: 'good',
    sentence: `renewed in time; the first to end does so in ${Math.floor(Math.min(...soonest.map(({ endsInS }) => endsInS)) / DAY_S)} days${ended}${without}`,
  }
}

function judgeBudget({ directory, account, blocks }: DirectoryBudget): Check[] {
  const name = 'limits'
  const refused = blocks.map(
    ({ scope, key, until, detail }): Check => ({
      name,
      state: 'doubtful',
      sentence: `${directory} refuses orders (${key || scope}) until ${shownTime(until)}: ${detail}`,
    }),
  )
  if (!account) return refused
  const { used, max, forNew, windowS } = account
  const sentence = `${directory}: ${used} of ${max} orders in ${windowS / 3_600} hours are used, and new certificates may use ${forNew}`
  if (used < forNew - max * ROOM_LOW_SHARE) return [{ name, state: 'good', sentence }, ...refused]
  const advice = 'A second directory in NAMESAKE_ACME_DIRECTORY has a budget of its own'
  return [{ name, state: 'doubtful', sentence: `${sentence}: nearly out of room. ${advice}` }, ...refused]
}

function judgeWaiting(waiting: Waiting[]): Check[] {
  return waiting.map(({ limit, hostnames, nextAt }) => ({
    name: 'limits',
    state: 'doubtful',
    sentence: `${count(hostnames, 'hostname')} ${hostnames === 1 ? 'waits' : 'wait'} for room (${limit}), the next order is ${shownTime(nextAt)}. More: ${ownCommand()} budget show`,
  }))
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
