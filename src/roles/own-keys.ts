import { generateAccountKey, thumbprintOf } from '../certs/keys.ts'
import { createLocalCa } from '../certs/local-ca.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Db } from '../core/db.ts'
import { readSetting, writeSettingOnce } from '../core/settings.ts'
import { createSealer, type Sealer } from '../lib/seal.ts'

export const THUMBPRINT = 'thumbprint'
const ACCOUNT_KEY = 'account-key'
const LOCAL_CA = 'local-ca'
const SECRET_CHECK = 'secret-check'
export const SECRET_DOES_NOT_FIT =
  'NAMESAKE_SECRET is not the secret that this database was set up with, and without that one no certificate key in it can be read. Example: NAMESAKE_SECRET=new,former'
const CHECK_TEXT = 'namesake'

/** What the sealed settings are sealed for, and their names. */
export const SETTINGS = 'settings'
export const SEALED_SETTINGS = [ACCOUNT_KEY, LOCAL_CA, SECRET_CHECK] as const

/** The installation's own sealed values, each made once by whichever machine comes first. */
export type OwnKeys = { accountKeyPem: string; localCa: { keyPem: string; certPem: string } }

const settingsSealer = (config: Config): Sealer => createSealer(config.secrets, SETTINGS)

/**
 * Makes what is missing of the installation's keys and checks the secret against the database. Rejects with a sentence for the operator
 * when NAMESAKE_SECRET is not the one that this database was set up with.
 */
export async function ensureOwnKeys(db: Db, config: Config): Promise<OwnKeys> {
  const sealer = settingsSealer(config)
  await checkSecret(db, sealer)
  const accountKeyPem = await keep(db, sealer, ACCOUNT_KEY, generateAccountKey)
  const localCa = await keep(db, sealer, LOCAL_CA, async () => JSON.stringify(await createLocalCa()))
  await writeSettingOnce(db, THUMBPRINT, Buffer.from(thumbprintOf(accountKeyPem)))
  return { accountKeyPem, localCa: JSON.parse(localCa) }
}

/** The local CA's root certificate, PEM; undefined before the first start. */
export async function readLocalRoot(db: Db, config: Config): Promise<string | undefined> {
  const sealed = await readSetting(db, LOCAL_CA)
  return sealed && (JSON.parse(settingsSealer(config).open(sealed, LOCAL_CA).toString()) as { certPem: string }).certPem
}

async function checkSecret(db: Db, sealer: Sealer): Promise<void> {
  const stored = await writeSettingOnce(db, SECRET_CHECK, sealer.seal(Buffer.from(CHECK_TEXT), SECRET_CHECK))
  try {
    sealer.open(stored, SECRET_CHECK)
  } catch {
    throw new ConfigError([SECRET_DOES_NOT_FIT])
  }
}

async function keep(db: Db, sealer: Sealer, name: string, make: () => Promise<string>): Promise<string> {
  const known = await readSetting(db, name)
  const stored = known ?? (await writeSettingOnce(db, name, sealer.seal(Buffer.from(await make()), name)))
  return sealer.open(stored, name).toString()
}
