import type { Config } from '../config.ts'

/** What becomes of mail here: sent by the configured server, kept for `/inbox` on a local installation, or not possible. */
export function mailing(config: Config): 'sent' | 'kept' | 'none' {
  if (config.smtpUrl !== undefined) return 'sent'
  return config.local ? 'kept' : 'none'
}
