import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../test/support/ports.ts'
import { parseHostname } from '../hostname.ts'
import { createAcmeAuthority } from './acme-authority.ts'
import { type Authority, IssueError } from './authority.ts'
import { generateAccountKey } from './keys.ts'
import { createLocalAuthority, createLocalCa } from './local-ca.ts'

const shop = parseHostname('shop.customer.example')
const accountKeyPem = await generateAccountKey()

type Reply = { status?: number; headers?: Record<string, string>; body?: unknown }
type Script = Record<string, Reply | ((visit: number, payload: unknown) => Reply | 'never')>

/** An authority over plain HTTP that behaves well at every path but those in the script. `visits` counts requests by path. */
async function startAuthority(script: Script = {}) {
  const visits: Record<string, number> = {}
  const url = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  const order = (status: string) => ({ status, authorizations: [url('/authz')], finalize: url('/finalize'), certificate: url('/chain') })
  const good: Script = {
    '/dir': () => ({ body: { newNonce: url('/nonce'), newAccount: url('/account'), newOrder: url('/new-order') } }),
    '/nonce': {},
    '/account': () => ({ status: 201, headers: { location: url('/account/1') }, body: {} }),
    '/new-order': () => ({ status: 201, headers: { location: url('/order') }, body: order('pending') }),
    '/authz': () => ({ body: { status: 'valid', challenges: [] } }),
    '/order': () => ({ body: order('ready') }),
    '/finalize': () => ({ body: order('valid') }),
    '/chain': { body: 'no certificate' },
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!
    visits[path] = (visits[path] ?? 0) + 1
    const chosen = script[path] ?? good[path]!
    const payload = await readPayload(request)
    const reply = typeof chosen === 'function' ? chosen(visits[path], payload) : chosen
    if (reply === 'never') return
    const type = (reply.status ?? 200) >= 400 ? 'application/problem+json' : 'application/json'
    response.writeHead(reply.status ?? 200, { 'content-type': type, 'replay-nonce': `nonce${visits[path]}`, ...reply.headers })
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}))
  }
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { authority: createAcmeAuthority({ directoryUrl: url('/dir'), accountKeyPem }), visits, url, order }
}

async function readPayload(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request) text += chunk
  const payload = text && Buffer.from(JSON.parse(text).payload, 'base64url').toString()
  return payload ? JSON.parse(payload) : undefined
}

async function failureOf(authority: Authority, signal = AbortSignal.timeout(20_000)): Promise<IssueError> {
  const error = await authority.issue(shop, { signal }).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(IssueError)
  return error as IssueError
}

const acme = (name: string) => `urn:ietf:params:acme:error:${name}`
const own = (name: string) => `urn:namesake:error:${name}`

test('a rate limit comes with its problem in full and with how long to wait', async () => {
  const limit = {
    type: acme('rateLimited'),
    detail: 'too many certificates (50) already issued for "customer.example"',
    subproblems: [{ type: acme('rateLimited'), detail: 'retry after Friday', identifier: { type: 'dns', value: shop } }],
    limit: 50,
  }
  const { authority } = await startAuthority({ '/new-order': { status: 429, headers: { 'retry-after': '3600' }, body: limit } })
  const { problem, retryAfterS, message } = await failureOf(authority)
  expect(problem).toEqual({ ...limit, status: 429 })
  expect(retryAfterS).toBe(3600)
  expect(message).toMatch(/too many certificates.*; shop\.customer\.example – retry after Friday/)
})

test('what PostgreSQL cannot keep does not come through', async () => {
  const body = `{"type":"${acme('unauthorized')}","detail":"Invalid response: \\u0000\\ud800 é 🙂"}`
  const { authority } = await startAuthority({ '/new-order': { status: 403, body } })
  const { problem, message } = await failureOf(authority)
  expect(problem.detail).toBe('Invalid response: \ufffd\ufffd é 🙂')
  expect(message).toContain(problem.detail)
})

test('a date in Retry-After is understood too', async () => {
  const at = new Date(Date.now() + 600_000).toUTCString()
  const { authority } = await startAuthority({
    '/new-order': { status: 503, headers: { 'retry-after': at }, body: { type: acme('serverInternal') } },
  })
  const { retryAfterS } = await failureOf(authority)
  expect(retryAfterS).toBeGreaterThan(590)
  expect(retryAfterS).toBeLessThanOrEqual(600)
})

test.for([
  ['unauthorized', 403, own('accountUnusable')],
  ['malformed', 400, own('accountUnusable')],
  ['badPublicKey', 400, own('accountUnusable')],
  ['externalAccountRequired', 403, acme('externalAccountRequired')],
  ['invalidContact', 400, acme('invalidContact')],
  ['rateLimited', 429, acme('rateLimited')],
  ['serverInternal', 500, acme('serverInternal')],
  ['malformed', 404, acme('malformed')], // its place is elsewhere by now
] as const)('a refusal to make our account by %s (%d) is %s', async ([name, status, type]) => {
  const { authority } = await startAuthority({ '/account': { status, body: { type: acme(name), detail: 'no' } } })
  expect((await failureOf(authority)).problem).toEqual({ type, detail: 'no', status })
})

test('ten refused nonces in a row are borne', async () => {
  const bad = { status: 400, body: { type: acme('badNonce'), detail: 'again' } }
  const { authority, visits, order } = await startAuthority({ '/order': (visit) => (visit <= 10 ? bad : { body: order('ready') }) })
  expect((await failureOf(authority)).problem.type).toBe(own('certificateMismatch')) // it came as far as the certificate
  expect(visits).toMatchObject({ '/order': 11, '/nonce': 1 }) // the fresh nonce is taken from the refusal
})

test('an authority that refuses every nonce is given up', async () => {
  const { authority, visits } = await startAuthority({ '/new-order': { status: 400, body: { type: acme('badNonce') } } })
  expect((await failureOf(authority)).problem.type).toBe(acme('badNonce'))
  expect(visits['/new-order']).toBeLessThan(20)
})

test('while it is processed, an order is looked at as often as Retry-After asks', async () => {
  const times: number[] = []
  const { authority, order } = await startAuthority({
    '/finalize': () => ({ headers: { 'retry-after': '1' }, body: order('processing') }),
    '/order': (visit) => {
      times.push(performance.now())
      return { body: order(visit === 1 ? 'ready' : 'valid') }
    },
  })
  await failureOf(authority)
  expect(times[1]! - times[0]!).toBeGreaterThan(900)
})

test('an order that is called invalid gives the reason', async () => {
  const error = { type: acme('badCSR'), detail: 'the key is weak', status: 400 }
  const { authority, order } = await startAuthority({ '/finalize': () => ({ body: { ...order('invalid'), error } }) })
  expect((await failureOf(authority)).problem).toEqual(error)
})

test.for<[string, Script, RegExp]>([
  ['a directory that is no JSON', { '/dir': { body: '<html>' } }, /directory is no JSON/],
  ['a directory that is a list', { '/dir': { body: [] } }, /directory is no JSON/],
  ['a directory without newOrder', { '/dir': { body: { newNonce: 'http://x/', newAccount: 'http://x/' } } }, /directory\.newOrder/],
  [
    'a directory with a file URL',
    { '/dir': { body: { newNonce: 'file:///etc/passwd', newAccount: 'http://x/', newOrder: 'http://x/' } } },
    /directory\.newNonce/,
  ],
  ['no nonce', { '/nonce': { headers: { 'replay-nonce': '' } } }, /no nonce/],
  ['an account without Location', { '/account': { status: 201, body: {} } }, /Location of the account/],
  [
    'an order without Location',
    { '/new-order': { status: 201, body: { status: 'pending', authorizations: [], finalize: 'http://x/' } } },
    /Location of the order/,
  ],
  [
    'an order in an unknown state',
    { '/order': { body: { status: 'thinking', authorizations: [], finalize: 'http://x/' } } },
    /order\.status is "thinking"/,
  ],
  [
    'an order without authorizations',
    { '/order': { body: { status: 'ready', finalize: 'http://x/' } } },
    /order\.authorizations is no list/,
  ],
  [
    'an order of 11 authorizations',
    { '/order': { body: { status: 'ready', authorizations: Array(11).fill('http://x/'), finalize: 'http://x/' } } },
    /11 authorizations/,
  ],
  [
    'an invalid order without a reason',
    { '/order': { body: { status: 'invalid', authorizations: [], finalize: 'http://x/' } } },
    /gives no reason/,
  ],
  ['an order that is null', { '/order': { body: 'null' } }, /order is no JSON/],
  [
    'an authorization that was deactivated',
    { '/authz': { body: { status: 'deactivated', challenges: [] } } },
    /calls the authorization deactivated/,
  ],
  [
    'an authorization whose challenges are a text',
    { '/authz': { body: { status: 'pending', challenges: 'http-01' } } },
    /authorization\.challenges/,
  ],
  ['a web page instead of a problem', { '/new-order': { status: 502, body: '<h1>Bad Gateway</h1>' } }, /status 502.*Bad Gateway/],
  [
    'the problem of a gateway in front of it',
    { '/new-order': { status: 503, body: { type: 'https://tools.ietf.org/html/rfc9110#section-15.6.4', status: 503 } } },
    /status 503/,
  ],
  ['a problem without a type', { '/new-order': { status: 500, body: { detail: 'oops' } } }, /status 500/],
  ['a problem whose type is a number', { '/new-order': { status: 500, body: { type: 7 } } }, /status 500/],
  ['a redirect', { '/new-order': { status: 302, headers: { location: 'http://127.0.0.1:1/' } } }, /status 302/],
  ['an endless answer', { '/new-order': { body: 'x'.repeat(1_100_000) } }, /more than 1000000 bytes/],
])('%s is a malformed answer, said as such', async ([, script, words]) => {
  const { authority } = await startAuthority(script)
  const { problem, message } = await failureOf(authority)
  expect(problem.type).toBe(own('malformedAnswer'))
  expect(message).toBe(problem.detail)
  expect(message).toMatch(words)
})

test.for([{ renewalInfo: null }, { renewalInfo: 'soon' }])(
  'an authority is ordered from though its optional members are null or like %o',
  async ({ renewalInfo }) => {
    const { authority, url, order } = await startAuthority({
      '/dir': () => ({
        body: { newNonce: url('/nonce'), newAccount: url('/account'), newOrder: url('/new-order'), meta: null, renewalInfo },
      }),
      '/new-order': () => ({
        ...{ status: 201, headers: { location: url('/order') } },
        body: { ...order('pending'), certificate: null, expires: null, error: null },
      }),
      '/finalize': { status: 403, body: { type: acme('badCSR'), detail: null, subproblems: null, identifier: null } },
    })
    expect((await failureOf(authority)).problem).toEqual({ type: acme('badCSR'), status: 403 })
  },
)

test('an authority that offers only other challenges is told from one that failed', async () => {
  const challenges = [{ type: 'dns-01', url: 'http://127.0.0.1:1/', status: 'pending', token: 'x' }]
  const { authority } = await startAuthority({ '/authz': { body: { status: 'pending', challenges } } })
  expect((await failureOf(authority)).problem.type).toBe(own('challengeNotOffered'))
})

test.for<[string, () => Promise<string>, RegExp]>([
  ['for another key', async () => (await localAuthority()).issue(shop, inTime()).then(({ chainPem }) => chainPem), /another key/],
  ['that cannot be read', async () => '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n', /cannot be read/],
  ['that is none', async () => 'hello', /0 certificates/],
])('a certificate %s is not taken', async ([, chain, words]) => {
  const body = await chain()
  const { authority } = await startAuthority({ '/chain': { body } })
  const { problem, message } = await failureOf(authority)
  expect(problem.type).toBe(own('certificateMismatch'))
  expect(message).toMatch(words)
})

test('an authority that is down is a failed connection', async () => {
  const authority = createAcmeAuthority({ directoryUrl: `http://127.0.0.1:${await freePort()}/dir`, accountKeyPem })
  const { problem, message } = await failureOf(authority)
  expect(problem.type).toBe(own('connectionFailed'))
  expect(message).toMatch(/no connection to 127\.0\.0\.1:\d+: nothing there accepts connections \(ECONNREFUSED\)$/)
})

test('an authority that comes back is used again, without a restart', async () => {
  const down = { status: 503, body: { type: acme('serverInternal'), detail: 'maintenance' } }
  const { authority, url } = await startAuthority({
    '/dir': (visit) =>
      visit === 1 ? down : { body: { newNonce: url('/nonce'), newAccount: url('/account'), newOrder: url('/new-order') } },
    '/account': (visit) => (visit === 1 ? down : { status: 201, headers: { location: url('/account/1') } }),
  })
  expect((await failureOf(authority)).problem.type).toBe(acme('serverInternal'))
  expect((await failureOf(authority)).problem.type).toBe(acme('serverInternal'))
  expect((await failureOf(authority)).problem.type).toBe(own('certificateMismatch'))
})

test('an hour later the directory is read anew, also when the machine has set its clock back meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { authority, visits } = await startAuthority()
  const look = () => authority.caaIdentities!(AbortSignal.timeout(20_000))
  await look()
  vi.setSystemTime(0)
  await look()
  expect(visits['/dir']).toBe(1)
  vi.advanceTimersByTime(3_600_001)
  await look()
  expect(visits['/dir']).toBe(2)
})

test('an authority that takes its orders elsewhere by now is found by the next attempt', async () => {
  const moved = { status: 404, body: { type: acme('malformed'), detail: 'no such page' } }
  const { authority, visits, url } = await startAuthority({
    '/dir': (visit) => ({
      body: { newNonce: url('/nonce'), newAccount: url('/account'), newOrder: url(visit === 1 ? '/old' : '/new-order') },
    }),
    '/old': moved,
  })
  expect((await failureOf(authority)).problem.detail).toBe('no such page')
  expect((await failureOf(authority)).problem.type).toBe(own('certificateMismatch')) // it came as far as the certificate
  expect(visits).toMatchObject({ '/dir': 2, '/old': 1, '/new-order': 1 })
})

test.for(['/dir', '/nonce', '/account', '/new-order', '/authz', '/order', '/finalize', '/chain'])(
  'an order that hangs at %s ends with its signal',
  async (path) => {
    const { authority, visits } = await startAuthority({ [path]: () => 'never' })
    const stop = new AbortController()
    const failure = failureOf(authority, stop.signal)
    while (!visits[path]) await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    expect((await failure).problem.type).toBe(own('aborted'))
  },
)

test('an order that takes longer than its deadline says so', async () => {
  const { authority, order } = await startAuthority({
    '/finalize': () => ({ body: order('processing') }),
    '/order': () => ({ body: order('pending') }),
  })
  expect((await failureOf(authority, AbortSignal.timeout(300))).problem.type).toBe(own('timeout'))
})

test('a hostname on which the authority does not decide is told from an authority that does not answer', async () => {
  const pending = (headers = {}) => {
    const challenges = [{ type: 'http-01', url: started.url('/challenge'), status: 'processing', token: 'x' }]
    return { headers, body: { status: 'pending', challenges } }
  }
  let deadline = new AbortController()
  const passDeadline = () => deadline.abort(new DOMException('', 'TimeoutError'))
  let started = await startAuthority({
    '/authz': (visit) => {
      if (visit === 2) setTimeout(passDeadline, 2_000) // while the next look is waited for
      return pending({ 'retry-after': '30' })
    },
  })
  const { problem, message } = await failureOf(started.authority, deadline.signal)
  expect(problem.type).toBe(own('validationPending'))
  expect(message).toContain(`has not yet said whether it could validate ${shop}`)

  deadline = new AbortController()
  started = await startAuthority({
    '/authz': (visit) => {
      if (visit <= 2) return pending()
      passDeadline()
      return 'never'
    },
  })
  expect((await failureOf(started.authority, deadline.signal)).problem.type).toBe(own('timeout'))
})

test('what is replaced is named only where the directory takes it', async () => {
  const sent: unknown[] = []
  const script = (renewalInfo: string | undefined): Script => ({
    '/dir': () => ({
      body: { newNonce: started.url('/nonce'), newAccount: started.url('/account'), newOrder: started.url('/new-order'), renewalInfo },
    }),
    '/new-order': (_visit, payload) => {
      sent.push(payload)
      return { status: 429, body: { type: acme('rateLimited') } }
    },
  })
  let started = await startAuthority(script(undefined))
  const replaces = 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE'
  await started.authority.issue(shop, { ...inTime(), replaces }).catch(() => undefined)
  started = await startAuthority(script('http://127.0.0.1:1/renewal-info'))
  await started.authority.issue(shop, { ...inTime(), replaces }).catch(() => undefined)
  const identifiers = [{ type: 'dns', value: shop }]
  expect(sent).toEqual([{ identifiers }, { identifiers, replaces }])
})

test('an account key of another kind is refused at once', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  expect(() => createAcmeAuthority({ directoryUrl: 'http://127.0.0.1:1/', accountKeyPem: pem })).toThrow('P-256')
})

const inTime = () => ({ signal: AbortSignal.timeout(20_000) })

async function localAuthority() {
  const { keyPem, certPem } = await createLocalCa()
  return createLocalAuthority({ caKeyPem: keyPem, caCertPem: certPem, lifetimeDays: 90 })
}
