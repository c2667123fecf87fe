// `node test/portal/screenshots.ts [folder] [word]`: every screen of the portal, or those with the word in their names, light, dark and on two phones, as
// PNG files, with what axe says of each.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { freePort } from '../support/ports.ts'
import { collectErrors, findBarriers } from './chromium.ts'
import { EDGE_HOST, type PortalWorld, sendIpv6Elsewhere, startPortalWorld } from './portal-world.ts'

/** `isWindow`: what is seen without scrolling, as of a list that draws no more, and of what lies above a page. */
type Screen = {
  name: string
  path: string
  opening?: (page: Page) => Promise<unknown>
  before?: (page: Page) => Promise<unknown>
  isWindow?: true
}

const OWNER = 'ada@vendor.example'
const LONGEST = `${['a', 'b', 'c'].map((letter) => letter.repeat(63)).join('.')}.${'d'.repeat(53)}.example`
const LETTERS = 'xn--bcher-kva.xn--bcher-customer-gsb.com'
const BY_IPV6 = 'by-ipv6.customer.com'
const LOOKS: Record<string, BrowserContextOptions> = {
  light: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true, isMobile: true },
  small: { viewport: { width: 320, height: 640 }, colorScheme: 'dark', hasTouch: true, isMobile: true },
}

const [, , folderName = 'tmp/screenshots', word = ''] = process.argv
const folder = resolve(folderName)
mkdirSync(folder, { recursive: true })
const world = await startPortalWorld({
  NAMESAKE_DNS_ZONE: 'acme.namesake.example',
  NAMESAKE_DNS_ADDR: `127.0.0.1:${await freePort()}`,
})
let findings = 0
try {
  const { page } = await world.open('/')
  await world.signIn(page, OWNER)
  const storageState = await page.context().storageState()
  await shootAll([{ name: 'projects-empty', path: '/projects' }], storageState)
  const connectUrls = await furnish(world, page)
  const signInUrl = await world.askForLink(page, 'somebody-else@department.vendor.example')
  const wanted = screens(signInUrl, connectUrls).filter(({ name }) => name.includes(word))
  await shootAll(wanted, storageState)
} finally {
  await world.stop()
}
console.log(`${folder}: ${findings} findings`)
process.exit(findings === 0 ? 0 : 1)

function screens(signInUrl: string, connectUrls: Record<string, string>): Screen[] {
  const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click()
  const chooseOwnRole = (page: Page) => page.getByLabel(`Role of ${OWNER}`).selectOption('admin')
  const project = '/projects/acme-shops'
  return [
    { name: 'start', path: '/' },
    { name: 'sign-in', path: '/sign-in' },
    { name: 'sign-in-sent', path: '/sign-in', before: askForLink },
    { name: 'sign-in-failed', path: '/sign-in/confirm#token=mangled' },
    { name: 'sign-in-asked', path: signInUrl.replace(world.portalUrl, '') },
    { name: 'projects', path: '/projects' },
    { name: 'new-project', path: '/new-project' },
    { name: 'domains', path: project, isWindow: true },
    { name: 'domains-empty', path: '/projects/second' },
    { name: 'domains-none-found', path: `${project}?search=nowhere` },
    { name: 'domain-add', path: project, before: press('Add domain'), isWindow: true },
    { name: 'domain-add-many', path: project, before: press('Add many'), isWindow: true },
    { name: 'domain-waiting', path: `${project}/domains/waiting.customer.com`, before: choose('cloudflare') },
    { name: 'domain-wrong', path: `${project}/domains/wrong.customer.com` },
    { name: 'domain-letters', path: `${project}/domains/${LETTERS}` },
    { name: 'domain-longest', path: `${project}/domains/${LONGEST}`, before: choose('other') },
    { name: 'domain-wildcard', path: `${project}/domains/${encodeURIComponent('*.wild-customer.com')}` },
    { name: 'domain-live', path: `${project}/domains/shop.customer.com` },
    { name: 'domain-remove', path: `${project}/domains/shop.customer.com`, before: press('Remove domain'), isWindow: true },
    { name: 'tokens', path: `${project}/tokens` },
    { name: 'token-new', path: `${project}/tokens`, before: issueToken, isWindow: true },
    { name: 'members', path: `${project}/members` },
    { name: 'member-invite', path: `${project}/members`, before: press('Invite'), isWindow: true },
    { name: 'member-role', path: `${project}/members`, before: chooseOwnRole, isWindow: true },
    { name: 'activity', path: `${project}/activity` },
    { name: 'settings', path: `${project}/settings` },
    { name: 'settings-preview', path: `${project}/settings`, before: showPreview, isWindow: true },
    { name: 'settings-target', path: `${project}/settings`, before: typeTarget },
    { name: 'not-found', path: '/projects/nobody' },
    { name: 'connect-ended', path: '/connect#mangled' },
    ...['connect', 'connect-wrong', 'connect-letters', 'connect-by-wildcard'].map((name) => ({
      name,
      path: connectUrls[name]!,
      before: choose('godaddy'),
    })),
    { name: 'connect-hindered', path: connectUrls['connect-hindered']! },
    { name: 'connect-caa', path: connectUrls['connect-live']!, opening: forbidByCaa },
    { name: 'connect-live', path: connectUrls['connect-live']! },
  ]
}

async function shootAll(wanted: Screen[], storageState: BrowserContextOptions['storageState']): Promise<void> {
  for (const [look, options] of Object.entries(LOOKS)) {
    const context = await world.browser.newContext({ ...options, storageState })
    for (const screen of wanted) {
      const page = await context.newPage()
      const errors = collectErrors(page)
      await screen.opening?.(page)
      await page.goto(`${world.portalUrl}${screen.path}`)
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
      await settle(page)
      await screen.before?.(page)
      await settle(page)
      await page.screenshot({ path: join(folder, `${screen.name}.${look}.png`), fullPage: !screen.isWindow })
      const width = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
      report(`${screen.name}.${look}`, [
        ...(await findBarriers(page)),
        ...errors,
        ...(width > 0 ? [`${width} px wider than the window`] : []),
      ])
      await page.close()
    }
    await context.close()
  }
}

/** Until nothing that says "loading" is left and no animation runs. */
async function settle(page: Page): Promise<void> {
  await page
    .locator('.animate-pulse')
    .first()
    .waitFor({ state: 'detached', timeout: 10_000 })
    .catch(() => {})
  await page.evaluate(
    'Promise.all(document.getAnimations().filter(({ effect }) => effect.getTiming().iterations === 1).map(({ finished }) => finished))',
  )
}

function report(name: string, problems: string[]): void {
  findings += problems.length
  for (const problem of problems) console.log(`${name}: ${problem}`)
}

/** A project as it is after some weeks. Resolves with the paths of the pages for customers, by the screen's name. */
async function furnish({ dns, tree, upstreamUrl, portalUrl }: PortalWorld, page: Page): Promise<Record<string, string>> {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await page.request.fetch(`${tree.env.NAMESAKE_PORTAL_URL}${path}`, { method, ...(body !== undefined && { data: body }) })
    return { status: answer.status(), json: await answer.json().catch(() => undefined) }
  }
  const project = '/v1/portal/projects/acme-shops'
  await call('POST', '/v1/portal/projects', { name: 'Acme Shops', upstreamUrl })
  await call('POST', '/v1/portal/projects', { name: 'Second', upstreamUrl: 'http://127.0.0.1:9' })
  await call('PATCH', project, { brand: { color: '#7c3aed' } })
  dns.set('shop.customer.com', 'CNAME', EDGE_HOST)
  dns.set('wild-customer.com', 'NS', 'ada.ns.cloudflare.com', 'bob.ns.cloudflare.com')
  dns.set('*.hosted-customer.com', 'CNAME', 'sites.hoster.example')
  dns.set('wrong.customer.com', 'CNAME', 'old-shop.example.net')
  sendIpv6Elsewhere(dns, BY_IPV6)
  await call('POST', `${project}/domains`, { hostname: 'shop.customer.com', metadata: { customer: 42, theme: 'dark', tags: ['a', 'b'] } })
  await call('POST', `${project}/domains`, { hostname: 'wrong.customer.com' })
  await call('POST', `${project}/domains`, { hostname: 'waiting.customer.com' })
  await call('POST', `${project}/domains`, { hostname: BY_IPV6 })
  await call('POST', `${project}/domains`, { hostname: 'shop.hosted-customer.com' })
  await call('POST', `${project}/domains/shop.hosted-customer.com/check`)
  await call('POST', `${project}/domains`, { hostname: `${'long-name-'.repeat(6)}x.a-customer-with-a-long-name.example` })
  await call('POST', `${project}/domains`, { hostname: LONGEST })
  await call('POST', `${project}/domains`, { hostname: LETTERS })
  await call('POST', `${project}/domains/${LONGEST}/check`)
  await call('POST', `${project}/domains/bulk`, { hostnames: Array.from({ length: 40 }, (_, n) => `shop-${n}.example.com`) })
  await call('POST', `${project}/domains`, { hostname: '*.wild-customer.com' })
  await call('POST', `${project}/domains/${encodeURIComponent('*.wild-customer.com')}/check`)
  await call('POST', `${project}/tokens`, { name: 'production' })
  const old = await call('POST', `${project}/tokens`, { name: 'staging' })
  await call('DELETE', `${project}/tokens/${old.json.id}`)
  await call('POST', `${project}/members`, { email: 'grace@vendor.example', role: 'admin' })
  await call('POST', `${project}/members`, { email: 'a-very-long-address-of-a-colleague@department.vendor.example', role: 'member' })
  for (const hostname of ['waiting', 'wrong', 'shop', 'by-ipv6']) await call('POST', `${project}/domains/${hostname}.customer.com/check`)
  const isLive = async (hostname: string) => (await call('GET', `${project}/domains/${hostname}`)).json.status === 'live'
  for (const hostname of ['shop.customer.com', BY_IPV6])
    for (let n = 0; n < 100 && !(await isLive(hostname)); n++) await page.waitForTimeout(100)
  const hostnames = {
    connect: 'waiting.customer.com',
    'connect-wrong': 'wrong.customer.com',
    'connect-letters': LETTERS,
    'connect-by-wildcard': 'shop.hosted-customer.com',
    'connect-hindered': BY_IPV6,
    'connect-live': 'shop.customer.com',
  }
  const links = Object.entries(hostnames).map(async ([screen, hostname]) => {
    const { json } = await call('POST', `${project}/domains/${hostname}/link`)
    return [screen, json.url.replace(portalUrl, '')]
  })
  return Object.fromEntries(await Promise.all(links))
}

/** Chromium draws a page within the page only where it is on the screen. */
async function showPreview(page: Page): Promise<void> {
  await page.frameLocator('iframe').getByRole('heading').waitFor()
  await page.locator('iframe').scrollIntoViewIfNeeded()
  await page.waitForTimeout(500)
}

/** CAA records are asked for where the authority's name in them is known, which is none of this machine: the answer is given that warning on its way. */
function forbidByCaa(page: Page) {
  const kind = 'caa-forbids'
  const sentence =
    'The CAA records of customer.com allow only digicert.com to issue certificates: add a CAA record named "@" in the DNS of customer.com with the value 0 issue "letsencrypt.org".'
  return page.route('**/v1/connect', async (route) => {
    const response = await route.fetch()
    const connect = await response.json()
    const json = { ...connect, status: 'certificate-failed', dns: { ...connect.dns, warnings: [{ kind, sentence }] } }
    await route.fulfill({ response, json })
  })
}

async function askForLink(page: Page): Promise<void> {
  await page.getByLabel('E-mail address').fill('grace@vendor.example')
  await page.getByRole('button', { name: 'Send me a link' }).click()
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
}

async function issueToken(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByLabel('Name').fill('production')
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByTestId('token').waitFor()
}

function typeTarget(page: Page) {
  return page.getByLabel('A name of your own').fill('customers.acme-shops.example')
}

function choose(provider: string) {
  return (page: Page) => page.locator('main select').first().selectOption(provider)
}
