import { Command } from 'commander'
import { ownCommand } from '../own-command.ts'
import { readSecretStatus, reseal, type SecretStatus } from '../roles/resealing.ts'
import { withInstallation } from './installation.ts'
import { show, table } from './output.ts'

const PROGRESS_EVERY_MS = 1_000

/** `namesake secret status|reseal` */
export function secretCommand(): Command {
  const secret = new Command('secret').description('Change NAMESAKE_SECRET while everything serves')
  secret
    .command('status')
    .description('Count what is sealed in the database, by the secret that sealed it')
    .option('--json', 'print JSON')
    .action(status)
  secret
    .command('reseal')
    .description('Seal everything anew by the first secret of NAMESAKE_SECRET=new,former, so that the former can be dropped')
    .option('--json', 'print JSON')
    .action(run)
  return secret
}

async function status({ json }: { json?: boolean }): Promise<void> {
  const found = await withInstallation(({ db, config }) => readSecretStatus(db, config))
  show({ json }, found, () => [...counts(found), '', ...verdict(found)])
  if (found.unknown > 0) process.exitCode = 1
}

async function run({ json }: { json?: boolean }): Promise<void> {
  const outcome = await withInstallation(async ({ db, config, announce }) => {
    if (config.secrets.length < 2) throw new Error('there is nothing to seal anew: set NAMESAKE_SECRET=new,former, the new one first')
    let told = performance.now()
    const progress = (resealed: number) => {
      if (json || performance.now() - told < PROGRESS_EVERY_MS) return
      told = performance.now()
      console.error(`${resealed} values sealed anew …`)
    }
    return { ...(await reseal(db, config, { progress, changed: announce })), status: await readSecretStatus(db, config) }
  })
  show({ json }, outcome, () => [
    `${outcome.resealed} values were sealed anew.`,
    ...outcome.unreadable.map((name) => `Cannot be read with any of the secrets, damaged or moved: ${name}`),
    ...counts(outcome.status),
    '',
    ...verdict(outcome.status),
  ])
  const { former, unknown } = outcome.status
  if (former > 0 || unknown > 0 || outcome.unreadable.length > 0) process.exitCode = 1
}

function counts({ sealed }: SecretStatus): string[] {
  return table(
    ['WHERE', 'SEALED BY', 'KEY', 'VALUES'],
    sealed.map(({ place, secret, keyId, values }) => [place, WORDS[secret], keyId, String(values)]),
  )
}

const WORDS = { first: 'the first secret', former: 'a former secret', unknown: 'a secret not given' }

/** A secret may be dropped only where each value can be read without it: not while any is sealed by one that nobody gave. */
function verdict({ former, unknown }: SecretStatus): string[] {
  if (former === 0 && unknown === 0)
    return ['Nothing is left under a former secret. Where every edge has caught up, NAMESAKE_SECRET can hold the first alone.']
  const lost = `${unknown} values were sealed by a secret that is not given: append it to NAMESAKE_SECRET, or the certificates that they belong to cannot be served.`
  const left = `${former} values are still sealed by a former secret: keep it, and run ${ownCommand()} secret reseal`
  return [...(unknown > 0 ? [lost] : []), ...(former > 0 ? [left] : [])]
}
