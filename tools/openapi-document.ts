import { hash } from 'node:crypto'
import { createApp } from '../src/api/app.ts'
import { createAuthenticator } from '../src/api/authentication.ts'
import { createRouteFinder } from '../src/api/route-finder.ts'
import { closeDatabase, connectDatabase } from '../src/core/db.ts'
import { createLinkSigner } from '../src/core/link-signer.ts'
import { parseHostname } from '../src/hostname.ts'
import { createLog } from '../src/log.ts'

/** The API's OpenAPI document, from the code as it stands. Nothing is served and no database is asked. */
export async function readDocument(): Promise<{ paths: Record<string, object>; components: object }> {
  const db = connectDatabase('postgres://localhost/none', { applicationName: 'openapi-document' }) // connects at the first statement: never
  const log = createLog('openapi-document', 'fatal')
  const now = () => new Date()
  const isFresh = () => true
  const authenticator = createAuthenticator({ db, log, isFresh, now })
  const app = createApp({
    db,
    log,
    baseUrl: new URL('https://api.example.com'),
    portal: [],
    version: '1',
    rules: { plans: new Map(), edgeHost: parseHostname('edge.example.com'), edgeIps: [], reserved: new Set(), wildcards: true },
    probe: { check: () => Promise.reject(new Error('nothing is probed here')) },
    probeIntervalS: 300,
    readImported: () => {
      throw new Error('nothing is imported here')
    },
    trustedProxies: [],
    authenticate: authenticator.authenticate,
    vouch: authenticator.authenticate,
    revoked: () => {},
    portalUrl: new URL('https://portal.example.com'),
    signer: createLinkSigner([''], 'sign-in'),
    connectSigner: createLinkSigner([''], 'connect'),
    signup: 'open',
    mail: 'none',
    limits: { take: async () => {} },
    projectRules: { plans: new Map(), checkUpstream: async () => {}, checkCnameTarget: async () => {} },
    previewErrorPage: () => ({ html: '', policy: '' }),
    checkUpstream: async () => ({ kind: 'answered', status: 200 }),
    finder: createRouteFinder({ db, isFresh, now, resolve: () => ({ kind: 'unknown' }) }),
    announce: () => {},
    now,
  })
  await app.ready()
  const { paths, components } = app.swagger() as unknown as { paths: Record<string, object>; components: object }
  await app.close()
  await authenticator.close()
  await closeDatabase(db)
  return { paths, components }
}

/** Which document types were generated from: the first line of sdk/types.ts names it, and a test compares. */
export function fingerprint(document: object): string {
  return hash('sha256', JSON.stringify(document), 'hex').slice(0, 32)
}
