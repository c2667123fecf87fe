import type { AppParts } from '../../src/api/app.ts'
import { readImported } from '../../src/certs/imported.ts'
import type { Db } from '../../src/core/db.ts'
import { createLinkSigner } from '../../src/core/link-signer.ts'
import { createRateLimits } from '../../src/core/rate-limits.ts'
import { previewErrorPage } from '../../src/edge/error-page.ts'
import { PROJECT_RULES } from './tenants.ts'

const SECRETS = ['a secret of the tests, 32 bytes and more']
export const LINK_SIGNER = createLinkSigner(SECRETS, 'sign-in')
export const CONNECT_SIGNER = createLinkSigner(SECRETS, 'connect')

type PortalParts = Pick<
  AppParts,
  | 'portalUrl'
  | 'signer'
  | 'connectSigner'
  | 'signup'
  | 'mail'
  | 'limits'
  | 'projectRules'
  | 'checkUpstream'
  | 'previewErrorPage'
  | 'revoked'
  | 'readImported'
>

/** What the portal's routes are made of, where a test says nothing else. No upstream is asked. */
export function portalParts(db: Db): PortalParts {
  return {
    portalUrl: new URL('https://portal.namesake.test'),
    signer: LINK_SIGNER,
    connectSigner: CONNECT_SIGNER,
    signup: 'open',
    mail: 'sent',
    limits: createRateLimits(db),
    projectRules: PROJECT_RULES,
    checkUpstream: async () => ({ kind: 'answered', status: 200 }),
    previewErrorPage,
    revoked: () => {},
    readImported(hostname, { chain, key }) {
      const { keyPem, warnings, ...certificate } = readImported(chain, key, hostname, new Date())
      return { record: { ...certificate, sealedKey: Buffer.from(keyPem) }, warnings }
    },
  }
}
