import type { Config } from '../config.ts'

/** What becomes of mail here: sent by the configured server, kept for `/inbox` on a local installation, or not possible. */
export function mailing(config: Config): 'sent' | 'kept' | 'none' {
  if (config.smtpUrl !== undefined) return 'sent'
  return config.local ? 'kept' : 'none'
}

/** What is to be said of a machine that can send no mail, where the roles that run need it: the portal is there, and nobody comes in. */
export function doubtMail(config: Config, roles: readonly string[]): string[] {
  if (mailing(config) !== 'none' || !(roles.includes('api') || roles.includes('worker'))) return []
  return [
    'NAMESAKE_SMTP_URL is not set: nobody can sign in to the portal, for the link comes by mail. Example: smtps://user:password@mail.example.com',
  ]
}
