import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import { countSealed, findSealed, replaceSealed, SEALED_PLACES, type SealedCount, type SealedPlace } from '../core/sealed-values.ts'
import { pause } from '../lib/back-off.ts'
import { createSealer, keyIdOf, type Sealer } from '../lib/seal.ts'
import { CERTIFICATE_KEYS } from './certificate-keys.ts'
import { SEALED_SETTINGS, SETTINGS } from './own-keys.ts'
import { TICKET_KEYS } from './ticket-keys.ts'

/** By which of NAMESAKE_SECRET's secrets: `unknown` is none of them. */
export type SecretStanding = 'first' | 'former' | 'unknown'

/** What is sealed by what. `former` and `unknown` are values: nothing may be left of either before a secret is dropped. */
export type SecretStatus = {
  sealed: (SealedCount & { secret: SecretStanding })[]
  former: number
  unknown: number
}

/** `unreadable`: damaged, or moved from another row; they stay as they are. */
export type Resealed = { resealed: number; unreadable: string[] }

const VALUES_PER_BATCH = 500
const PAUSE_MS = 100 // edges follow each value through the feed, at a pace that leaves room for claims
const PASSES_MAX = 10 // others may go on sealing by a former secret while their machines are not restarted yet
const UNREADABLE_MAX = 100

const SETTING_NAMES = [...SEALED_SETTINGS, TICKET_KEYS]

/** Counts every sealed value in the database by the secret that made it. */
export async function readSecretStatus(db: Db, { secrets }: Pick<Config, 'secrets'>): Promise<SecretStatus> {
  const [first, ...former] = secrets.map((secret) => keyIdOf(secret).toString('hex'))
  const standing = (keyId: string): SecretStanding => (keyId === first ? 'first' : former.includes(keyId) ? 'former' : 'unknown')
  const sealed = (await countSealed(db, SETTING_NAMES)).map((count) => ({ ...count, secret: standing(count.keyId) }))
  const sum = (secret: SecretStanding) => sealed.filter((one) => one.secret === secret).reduce((total, { values }) => total + values, 0)
  return { sealed, former: sum('former'), unknown: sum('unknown') }
}

/**
 * Seals everything anew by the first secret that a former one sealed, batch by batch, while everything serves. Each batch is committed by
 * itself, so it can be ended and begun again at any time; of a value that changes meanwhile the newer stays.
 */
export async function reseal(
  db: Db,
  config: Pick<Config, 'secrets'>,
  on: { progress(resealed: number): void; changed(name: string): void },
): Promise<Resealed> {
  const [first, ...former] = config.secrets.map((secret) => keyIdOf(secret).toString('hex'))
  const keyIds = former.filter((keyId) => keyId !== first)
  const unreadable = new Set<string>()
  let resealed = 0
  for (let pass = 0, found = 1; found > 0 && pass < PASSES_MAX; pass++) {
    found = 0
    for (const place of SEALED_PLACES) {
      const sealerOf = sealers(config, place)
      let after = ''
      for (;;) {
        const values = await findSealed(db, place, { settings: SETTING_NAMES, keyIds, after, limit: VALUES_PER_BATCH })
        const batch = values.flatMap(({ name, sealed: former }) => {
          try {
            const sealer = sealerOf(name)
            return [{ name, former, sealed: sealer.seal(sealer.open(former, name), name) }]
          } catch {
            if (unreadable.size < UNREADABLE_MAX) unreadable.add(`${place}: ${name}`)
            return []
          }
        })
        if (batch.length > 0) {
          found += await replaceSealed(db, place, batch)
          on.changed(batch[0]!.name)
          on.progress(resealed + found)
        }
        if (values.length < VALUES_PER_BATCH) break
        after = values.at(-1)!.name
        await pause(PAUSE_MS)
      }
    }
    resealed += found
  }
  return { resealed, unreadable: [...unreadable] }
}

function sealers({ secrets }: Pick<Config, 'secrets'>, place: SealedPlace): (name: string) => Sealer {
  if (place !== 'settings') {
    const sealer = createSealer(secrets, CERTIFICATE_KEYS)
    return () => sealer
  }
  const [settings, tickets] = [createSealer(secrets, SETTINGS), createSealer(secrets, TICKET_KEYS)]
  return (name) => (name === TICKET_KEYS ? tickets : settings)
}
