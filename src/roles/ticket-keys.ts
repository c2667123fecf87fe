import { randomBytes } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import { renewSetting } from '../core/settings.ts'
import { createSealer } from '../lib/seal.ts'

/** The name of the setting that holds them, sealed. */
export const TICKET_KEYS = 'ticket-keys'

const BYTES = 48 // node's one key: name, AES and HMAC part of 16 bytes each
const LIFETIME_S = 86_400 // a ticket is as secret as the key that it was made with: no key outlives a day

/**
 * Makes new keys for session tickets (RFC 5077, RFC 8446 §4.6.1) when a day has passed, the same for all processes and machines, so that a
 * visitor's session resumes wherever it lands. Random ones: keys derived from a lasting secret would end forward secrecy.
 */
export async function renewTicketKeys(db: Db, config: Config): Promise<void> {
  await renewSetting(db, TICKET_KEYS, sealer(config).seal(randomBytes(BYTES), TICKET_KEYS), LIFETIME_S)
}

/** The keys out of the setting. Throws when the secret is another. */
export function openTicketKeys(config: Config, sealed: Buffer): Buffer {
  return sealer(config).open(sealed, TICKET_KEYS)
}

function sealer({ secrets }: Config) {
  return createSealer(secrets, TICKET_KEYS)
}
