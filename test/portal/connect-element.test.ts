import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { textOf } from '../support/mail.ts'
import { freePort } from '../support/ports.ts'
import { collectErrors, findBarriers } from './chromium.ts'
import { EDGE_HOST, type PortalWorld, sendIpv6Elsewhere, startPortalWorld } from './portal-world.ts'

const FILE_BYTES_MAX = 15 * 1024
const SEEN_WITHIN_MS = 60_000 // a look over HTTPS that failed on a busy machine is repeated after up to 16 s
const SLOW_TYPING = { interval: 1_500, timeout: 60_000 }
const SHOTS = process.env.SCREENSHOTS // a folder: what the tests see is written there

type Host = { attributes?: string; css?: string; options?: BrowserContextOptions }

let world: PortalWorld
let vendorSite: Server
let vendorUrl: string
let vendor: Page
const pages = new Map<string, { html: string; css: string }>()

/** A vendor's page of another origin, whose policy allows the API's script and calls and a style sheet of its own, and nothing inline. */
async function startVendorSite(): Promise<void> {
  const policy = `default-src 'none'; script-src ${world.portalUrl}; connect-src ${world.portalUrl}; style-src 'self'; require-trusted-types-for 'script'`
  vendorSite = createServer((request, response) => {
    const page = pages.get(request.url!.replace(/\.css$/, ''))
    if (!page) return response.writeHead(404).end()
    const isCss = request.url!.endsWith('.css')
    response.writeHead(200, { 'content-type': isCss ? 'text/css' : 'text/html; charset=utf-8', 'content-security-policy': policy })
    response.end(isCss ? page.css : page.html)
  }).listen(0, '127.0.0.1')
  await once(vendorSite, 'listening')
  vendorUrl = `http://127.0.0.1:${(vendorSite.address() as AddressInfo).port}`
}

/** Claims the hostname and makes the link of its owner; resolves with the link's token. */
async function link(hostname: string, project = 'acme-shops'): Promise<string> {
  const domains = `${world.portalUrl}/v1/portal/projects/${project}/domains`
  await vendor.request.post(domains, { data: { hostname } })
  const { url } = (await (await vendor.request.post(`${domains}/${encodeURIComponent(hostname)}/link`)).json()) as { url: string }
  return new URL(url).hash.slice(1)
}

/** The vendor's page with the element in it, and what goes wrong there unseen. */
async function openHost(token: string, { attributes = `api="${world.portalUrl}"`, css = '', options = {} }: Host = {}) {
  const path = `/page-${pages.size}`
  const html = `<!doctype html><html lang="en"><head><title>Vendor</title><meta name="viewport" content="width=device-width">
    <link rel="icon" href="data:,"><link rel="stylesheet" href="${path}.css">
    <script type="module" src="${world.portalUrl}/connect-element.js"></script></head>
    <body><main><h1>Your domain</h1><namesake-connect token="${token}" ${attributes}></namesake-connect></main></body></html>`
  pages.set(path, { html, css: `${css}\nbody { margin: 0.75rem; font-family: sans-serif; background: Canvas }` })
  const context = await world.browser.newContext({ viewport: { width: 760, height: 900 }, ...options })
  const page = await context.newPage()
  const errors = collectErrors(page)
  await page.addInitScript(
    `window.told = []
     for (const name of ['namesake-status', 'namesake-connected']) {
       addEventListener(name, ({ detail }) => { told.push(name + ' ' + (detail.status ?? detail.hostname)); throw new Error('a careless listener') })
     }`,
  )
  await page.goto(`${vendorUrl}${path}`)
  const unexpected = () => errors.filter((error) => !error.includes('a careless listener') && !error.includes("'img-src'"))
  return { page, unexpected }
}

async function shoot(page: Page, name: string): Promise<void> {
  if (!SHOTS) return
  mkdirSync(SHOTS, { recursive: true })
  await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true })
}

/** What has the focus within the element: its label or id, or its text. */
function focused(page: Page): Promise<string | undefined> {
  return page.evaluate(`{
    const { activeElement } = document.querySelector('namesake-connect').shadowRoot
    activeElement && (activeElement.ariaLabel || activeElement.id || activeElement.textContent)
  }`)
}

beforeAll(async () => {
  world = await startPortalWorld({ NAMESAKE_DNS_ZONE: 'acme.namesake.example', NAMESAKE_DNS_ADDR: `127.0.0.1:${await freePort()}` })
  await startVendorSite()
  vendor = (await world.open('/')).page
  await world.signIn(vendor, 'element@vendor.example')
  await vendor.request.post(`${world.portalUrl}/v1/portal/projects`, { data: { name: 'Acme Shops', upstreamUrl: world.upstreamUrl } })
  await vendor.request.patch(`${world.portalUrl}/v1/portal/projects/acme-shops`, { data: { brand: { color: '#7c3aed' } } })
})

afterEach(() => world.closePages(vendor))

afterAll(async () => {
  vendorSite?.close()
  await world?.stop()
})

test('on a page of another origin with a strict policy it leads from the record to "It works" without a reload', async () => {
  const { page, unexpected } = await openHost(await link('shop.element-customer.com'))
  await page.getByRole('heading', { name: 'Connect shop.element-customer.com' }).waitFor()
  await page.getByText('Acme Shops', { exact: true }).waitFor()
  await page.getByText(EDGE_HOST).first().waitFor()
  await page.getByLabel('Who manages the DNS of your domain?').selectOption('cloudflare')
  await page.getByText('the cloud must be grey').waitFor()
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('heading', { name: 'The record to add' }).waitFor()
  await shoot(page, 'element-waiting.light')
  world.dns.set('shop.element-customer.com', 'CNAME', 'old.example.net')
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.getByText('Almost: one thing to correct').first().waitFor({ timeout: SEEN_WITHIN_MS })
  await page.getByRole('status').filter({ hasText: 'old.example.net' }).waitFor()
  await page.getByRole('heading', { name: 'The record as it should be' }).waitFor()
  await shoot(page, 'element-wrong.light')
  expect(await findBarriers(page)).toEqual([])
  world.dns.set('shop.element-customer.com', 'CNAME', EDGE_HOST)
  await page.getByRole('heading', { name: 'It works' }).waitFor({ timeout: SEEN_WITHIN_MS })
  const open = page.getByRole('link', { name: 'Open https://shop.element-customer.com' })
  expect(await open.getAttribute('href')).toBe('https://shop.element-customer.com')
  expect(await findBarriers(page)).toEqual([])
  await shoot(page, 'element-live.light')
  const told = await page.evaluate<string[]>('told')
  expect(told[0]).toBe('namesake-status waiting-for-dns')
  expect(told.slice(-2)).toEqual(['namesake-status live', 'namesake-connected shop.element-customer.com'])
  expect(unexpected()).toEqual([])
})

test('a name in other letters is shown as its owner writes it and as the DNS does', async () => {
  const { page } = await openHost(await link('shop.xn--bcher-kva.element-customer.com'))
  await page.getByRole('heading', { name: 'Connect shop.bücher.element-customer.com' }).waitFor()
  await page.getByText('in the DNS: shop.xn--bcher-kva.element-customer.com').waitFor()
})

test('what is wrong stands above the record and the steps', async () => {
  const hostname = 'order.element-customer.com'
  world.dns.set(hostname, 'CNAME', 'old.example.net')
  const { page } = await openHost(await link(hostname), { options: { viewport: { width: 390, height: 844 } } })
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.getByText('Almost: one thing to correct').first().waitFor({ timeout: SEEN_WITHIN_MS })
  const topOf = async (name: string) => (await page.getByRole('heading', { name }).boundingBox())!.y
  expect(await topOf('Right now')).toBeLessThan(await topOf('The record as it should be'))
})

test('a right record is not shown to be changed when the vendor’s own name leads elsewhere, and the name is what others are told', async () => {
  const [hostname, target] = ['right.element-customer.com', 'customers.element-vendor.com']
  const projects = `${world.portalUrl}/v1/portal/projects`
  await vendor.request.post(projects, { data: { name: 'Own name', slug: 'own-name', upstreamUrl: world.upstreamUrl } })
  world.dns.set(target, 'CNAME', EDGE_HOST)
  expect((await vendor.request.patch(`${projects}/own-name`, { data: { cnameTarget: target } })).status()).toBe(200)
  const { page } = await openHost(await link(hostname, 'own-name'))
  await page.getByText(target).first().waitFor()
  expect(await page.getByText(EDGE_HOST).count()).toBe(0)
  world.dns.set(target, 'CNAME', 'old.example.net')
  world.dns.set(hostname, 'CNAME', target)
  await page.getByText('Your record is right').first().waitFor({ timeout: SEEN_WITHIN_MS })
  await page.getByText(`must mend the record of ${target}`).first().waitFor()
  expect(await page.getByRole('heading', { name: /^The records?/ }).count()).toBe(0)
  expect(await findBarriers(page)).toEqual([])
})

test('at a domain itself the steps leave the records alone by which its mail comes', async () => {
  const { page } = await openHost(await link('element-apex.com'))
  await page.getByLabel('Who manages the DNS of your domain?').selectOption('other')
  await page.getByText('Leave all others, such as MX and TXT').waitFor()
  expect(await page.getByText('If a record of this name exists already').count()).toBe(0)
})

test('the two names of an alias are there to be read, not to be copied as one', async () => {
  const { page } = await openHost('mangled')
  await page.route('**/v1/connect', async (route) => {
    const response = await route.fetch()
    const connect = (await response.json()) as { dns: object }
    const expected = [{ name: 'two-names.com', type: 'ALIAS', value: EDGE_HOST }]
    await route.fulfill({ response, json: { ...connect, dns: { ...connect.dns, expected } } })
  })
  await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${await link('two-names.com')}')`)
  await page.getByLabel('Who manages the DNS of your domain?').selectOption('other')
  expect(await page.getByText('ALIAS or ANAME', { exact: true }).count()).toBe(2)
  expect(await page.getByRole('button', { name: 'Copy Name', exact: true }).count()).toBe(2)
  expect(await page.getByRole('button', { name: 'Copy Type', exact: true }).count()).toBe(0)
})

test('a wildcard that leads here is not done before the record for its certificate is there as well', async () => {
  const { page } = await openHost(await link('*.element-wild.com'))
  await page.getByText('We do not see the record yet').first().waitFor()
  world.dns.set('*.element-wild.com', 'CNAME', EDGE_HOST)
  await page.getByText('Almost: one more record').first().waitFor({ timeout: SEEN_WITHIN_MS })
  await page.getByText('To have a certificate for the wildcard, add a CNAME record named "_acme-challenge"').waitFor()
  await page.getByText('_acme-challenge', { exact: true }).waitFor()
  expect(await findBarriers(page)).toEqual([])
})

test('what is in the way beside a right record is said, in place of "nothing more is to be done"', async () => {
  const hostname = 'two-ways.element-customer.com'
  const { page } = await openHost(await link(hostname))
  await page.getByText('We do not see the record yet').first().waitFor()
  sendIpv6Elsewhere(world.dns, hostname)
  const told = 'Remove the AAAA record (2001:db8::bad) of two-ways.element-customer.com'
  await page.getByText(told).waitFor({ timeout: SEEN_WITHIN_MS })
  await page.getByText('What it is, and what to do, stands below').first().waitFor()
  await page.getByRole('heading', { name: 'Almost: something is in the way' }).waitFor()
  expect(await page.getByText('nothing more is to be done').or(page.getByText('nothing for you to do')).count()).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await shoot(page, 'element-hindered.light')
  const answer = await vendor.request.post(`${world.portalUrl}/v1/portal/projects/acme-shops/domains/${hostname}/link`)
  const { page: customer } = await world.open('/')
  await customer.goto(((await answer.json()) as { url: string }).url)
  await customer.getByText(told).waitFor()
  await customer.getByText('What it is, and what to do, stands below').waitFor()
  await customer.getByRole('heading', { name: 'Almost: something is in the way' }).waitFor()
  await customer.getByLabel('Their e-mail address').fill('dns@element-customer.com')
  await customer.getByRole('button', { name: 'Send instructions' }).click()
  await customer.getByText('The instructions were sent').waitFor()
  expect(textOf(await world.mail.next('dns@element-customer.com'))).toContain(told)
  expect(await customer.getByText('nothing more is to be done').or(customer.getByText('nothing for you to do')).count()).toBe(0)
  expect(await findBarriers(customer)).toEqual([])
  await shoot(customer, 'page-hindered.light')
  world.dns.onQuery = undefined
  world.dns.unset(hostname, 'AAAA')
  world.dns.set(hostname, 'CNAME', EDGE_HOST)
  await customer.getByRole('button', { name: 'Check now' }).click()
  await customer.getByText(told).waitFor({ state: 'detached' })
})

test('a mangled token says that the link has ended, a missing one that it is incomplete, and a dead API that it did not answer', async () => {
  const { page, unexpected } = await openHost('mangled')
  await page.getByRole('heading', { name: 'This link has ended' }).waitFor()
  await page.getByText('twenty newer links were made').first().waitFor()
  expect(await findBarriers(page)).toEqual([])
  await shoot(page, 'element-ended.light')
  await page.evaluate(`document.querySelector('namesake-connect').removeAttribute('token')`)
  await page.getByRole('heading', { name: 'This link is incomplete' }).waitFor()
  expect(unexpected()).toEqual([])
  const token = await link('dead.element-customer.com')
  await page.route('**/v1/connect**', (route) => route.abort())
  await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${token}')`)
  await page.getByText('The service did not answer').first().waitFor()
  await page.unroute('**/v1/connect**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Connect dead.element-customer.com' }).waitFor()
  expect(await page.evaluate('told')).toEqual([
    'namesake-status ended',
    'namesake-status incomplete',
    'namesake-status unreachable',
    'namesake-status waiting-for-dns',
  ])
})

test('beside the token nothing of the page is sent, not even where the page is of the same origin and has a session', async () => {
  const page = await vendor.context().newPage()
  await page.goto(`${world.portalUrl}/sign-in`)
  await page.addScriptTag({ url: '/connect-element.js', type: 'module' })
  const asked = ['', '/events'].map((path) => page.waitForRequest(`**/v1/connect${path}`))
  await page.evaluate(`{
    const element = document.createElement('namesake-connect')
    element.setAttribute('token', '${await link('alone.element-customer.com')}')
    document.body.append(element)
  }`)
  for (const request of await Promise.all(asked)) {
    const headers = await request.allHeaders()
    expect(headers.authorization).toMatch(/^Connect /)
    expect([headers.cookie, headers.referer]).toEqual([undefined, undefined])
  }
  await page.close()
})

test('who asks too often is told by the service for how long to wait, unless the page has words of its own', async () => {
  const { page } = await openHost('mangled')
  const limited = { code: 'rate_limited', detail: 'too many requests: try again in 15 minutes' }
  const headers = { 'access-control-allow-origin': '*' }
  await page.route('**/v1/connect**', (route) =>
    route.request().method() === 'OPTIONS' ? route.continue() : route.fulfill({ status: 429, headers, json: limited }),
  )
  await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${await link('busy.element-customer.com')}')`)
  await page.getByText('Too many requests: try again in 15 minutes.').first().waitFor()
  await page.evaluate(`document.querySelector('namesake-connect').strings = { busy: 'Später' }`)
  await page.getByText('Später').first().waitFor()
  expect(await page.evaluate('told')).toContain('namesake-status busy')
})

const whoseHostnameIsRemoved = {
  'checks, before it hears of it': (checkNow: Locator) => checkNow.click(),
  'is told by the stream': (checkNow: Locator, tell: () => void) => checkNow.focus().then(tell),
}

test.each(Object.entries(whoseHostnameIsRemoved))(
  'a link whose hostname is removed while the page is open ends there: it %s',
  async (_, notice) => {
    const hostname = `gone-${pages.size}.element-customer.com`
    const { page } = await openHost('mangled')
    const told = Promise.withResolvers<void>()
    await page.route('**/v1/connect/events', async (route) => {
      await told.promise
      await route.continue()
    })
    await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${await link(hostname)}')`)
    await page.getByRole('heading', { name: `Connect ${hostname}` }).waitFor()
    await vendor.request.delete(`${world.portalUrl}/v1/portal/projects/acme-shops/domains/${hostname}`)
    await notice(page.getByRole('button', { name: 'Check now' }), told.resolve)
    await page.getByRole('heading', { name: 'This link has ended' }).waitFor()
    expect(await focused(page)).toBe('This link has ended')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  },
)

test('the page gives it colours, a language and a part of its look; without an address it asks where its script came from', async () => {
  const { page, unexpected } = await openHost(await link('themed.element-customer.com'), {
    attributes: `lang="de" strings='{"check":"Jetzt prüfen","heading":"{hostname} verbinden"}'`,
    css: 'namesake-connect { --namesake-accent: rgb(1, 2, 3) } namesake-connect::part(check) { text-transform: uppercase }',
  })
  await page.getByRole('heading', { name: 'themed.element-customer.com verbinden' }).waitFor()
  const style = (part: string, property: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector('namesake-connect').shadowRoot.querySelector('[part~="${part}"]'))['${property}']`,
    )
  expect(await style('mark', 'backgroundColor')).toBe('rgb(1, 2, 3)')
  expect(await style('check', 'textTransform')).toBe('uppercase')
  await page.getByRole('button', { name: 'Jetzt prüfen' }).waitFor()
  await page.evaluate(`document.querySelector('namesake-connect').strings = { check: 'Vérifier' }`)
  await page.getByRole('button', { name: 'Vérifier' }).waitFor()
  await page.evaluate(`document.querySelector('namesake-connect').strings = { check: 'Vérifier', recordTitle: 'À ajouter' }`)
  await page.getByRole('heading', { name: 'À ajouter' }).waitFor()
  expect(unexpected()).toEqual([])
})

test('at 320 px on a dark page nothing is cut off, and without a colour scheme of the page it stays light', async () => {
  const token = await link(`${'long-name-'.repeat(5)}x.a-customer-with-a-long-name.example`)
  const small = { viewport: { width: 320, height: 640 }, colorScheme: 'dark', hasTouch: true, isMobile: true } as const
  const { page } = await openHost(token, { css: ':root { color-scheme: light dark }', options: small })
  await page.getByLabel('Who manages the DNS of your domain?').selectOption('godaddy')
  await page.getByText('Add New Record').waitFor()
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
  expect(await findBarriers(page)).toEqual([])
  await shoot(page, 'element-waiting.small-dark')
  const background = `getComputedStyle(document.querySelector('namesake-connect').shadowRoot.querySelector('[part="container"]')).backgroundColor`
  expect(await page.evaluate(background)).toBe('rgb(28, 25, 23)')
  const { page: plain } = await openHost(token, { options: small })
  await plain.getByRole('button', { name: 'Check now' }).waitFor()
  expect(await plain.evaluate(background)).toBe('rgb(255, 255, 255)')
})

test('with the keyboard alone one copies the name in full and the value, chooses the provider and checks, and keeps the place while the page updates', async () => {
  const { page } = await openHost(await link('keys.element-customer.com'), {
    options: { permissions: ['clipboard-read', 'clipboard-write'] },
  })
  await page.getByRole('button', { name: 'Copy Value' }).waitFor()
  await page.keyboard.press('Tab')
  for (let n = 0; n < 3; n++) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('keys.element-customer.com')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(EDGE_HOST)
  await page.keyboard.press('Tab')
  await expect
    .poll(async () => {
      await page.keyboard.type('Gandi') // a select forgets a second after each letter what has been typed into it
      return page.getByText('Open “DNS Records”.').isVisible()
    }, SLOW_TYPING)
    .toBe(true)
  const check = page.getByRole('button', { name: 'Check now' })
  await check.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('status').filter({ hasText: 'CNAME' }).waitFor()
  world.dns.set('keys.element-customer.com', 'CNAME', 'elsewhere.example.net')
  await page.getByText('Almost: one thing to correct').first().waitFor({ timeout: SEEN_WITHIN_MS })
  expect(await focused(page)).toBe('Check now')
})

test('news that change what is shown take neither the focus nor the choice away', async () => {
  const { page } = await openHost('mangled')
  const asNewsCome: (() => void)[] = []
  await page.route('**/v1/connect/events', async (route) => {
    await new Promise<void>((resolve) => asNewsCome.push(resolve))
    await route.fulfill({ contentType: 'text/event-stream', headers: { 'access-control-allow-origin': '*' }, body: 'data: {}\n\n' })
  })
  let facts: object = { zone: null, provider: null }
  await page.route('**/v1/connect', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as object), ...facts } })
  })
  const news = async (found: object) => {
    facts = found
    await expect.poll(() => asNewsCome.length).toBeGreaterThan(0) // a stream that ended is asked for again after a while
    asNewsCome.shift()!()
  }
  await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${await link('my.place.element-customer.com')}')`)
  await page.getByRole('button', { name: 'Copy Name' }).first().focus()
  await news({ zone: 'place.element-customer.com', provider: null })
  await page.getByText('my', { exact: true }).first().waitFor()
  expect(await focused(page)).toBe('Copy Name')
  const provider = page.getByLabel('Who manages the DNS of your domain?')
  await provider.focus()
  await news({ zone: 'place.element-customer.com', provider: { id: 'gandi', name: 'Gandi' } })
  await page.getByText('Open “DNS Records”.').waitFor()
  expect(await focused(page)).toBe('provider')
  await provider.selectOption('GoDaddy')
  await news({ zone: 'element-customer.com', provider: { id: 'gandi', name: 'Gandi' } })
  await page.getByText('my.place', { exact: true }).first().waitFor()
  expect(await provider.inputValue()).toBe('godaddy')
  expect(await focused(page)).toBe('provider')
})

test('an element that is given the link of another hostname keeps no choice that was made for the one before', async () => {
  const { page } = await openHost(await link('before.element-customer.com'))
  const provider = page.getByLabel('Who manages the DNS of your domain?')
  await provider.selectOption('godaddy')
  await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${await link('after.element-customer.com')}')`)
  await page.getByRole('heading', { name: 'Connect after.element-customer.com' }).waitFor()
  expect(await provider.inputValue()).toBe('')
})

test('news that come while one checks do not take the answer away, and a check that fails does not end without a word', async () => {
  const { page } = await openHost('mangled')
  const checking = Promise.withResolvers<void>()
  const toldOfNews = Promise.withResolvers<void>()
  await page.route('**/v1/connect/events', async (route) => {
    await checking.promise
    const headers = { 'access-control-allow-origin': '*' }
    await route.fulfill({ contentType: 'text/event-stream', headers, body: 'data: {}\n\n' })
    await page.waitForRequest('**/v1/connect/events') // it asks for the stream anew: what came before has been read
    toldOfNews.resolve()
  })
  await page.route('**/v1/connect/check', async (route) => {
    const answer = await route.fetch()
    checking.resolve()
    await toldOfNews.promise
    await route.fulfill({ response: answer })
  })
  await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${await link('news.element-customer.com')}')`)
  const checkNow = page.getByRole('button', { name: 'Check now' })
  await checkNow.waitFor()
  const loadedAgain = page.waitForResponse('**/v1/connect')
  await checkNow.click()
  await page.getByRole('status').filter({ hasText: 'CNAME' }).waitFor()
  await loadedAgain
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.route('**/v1/connect/check', (route) => route.abort())
  await checkNow.click()
  await page.getByRole('status').filter({ hasText: 'The service did not answer' }).waitFor()
})

test('a question that failed is asked again by itself while the stream stays open, and no more once the element is gone', async () => {
  const { page } = await openHost('mangled')
  await page.clock.install()
  await page.route('**/v1/connect/events', () => {}) // nothing comes of it, as of a stream that is open and silent
  let asked = 0
  await page.route('**/v1/connect', (route) => {
    asked += 1
    return route.continue()
  })
  await page.route('**/v1/connect/check', (route) => {
    const headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after', 'retry-after': '20' }
    return route.fulfill({ status: 503, headers, json: { code: 'database_unavailable' } })
  })
  await page.evaluate(`document.querySelector('namesake-connect').setAttribute('token', '${await link('again.element-customer.com')}')`)
  const checkNow = page.getByRole('button', { name: 'Check now' })
  const notice = page.locator('[part="notice"]').filter({ hasText: 'The service did not answer' })
  await checkNow.click()
  await notice.waitFor()
  const before = asked
  await page.clock.fastForward(10_000)
  expect(asked).toBe(before)
  await page.clock.fastForward(20_000)
  await notice.waitFor({ state: 'detached' })
  expect(asked).toBeGreaterThan(before)
  await checkNow.click()
  await notice.waitFor()
  await page.evaluate(`document.querySelector('namesake-connect').remove()`)
  const atTheEnd = asked
  await page.clock.fastForward(40_000)
  expect(asked).toBe(atTheEnd)
})

test('the file is served to any origin, for an hour, and is under 15 KB compressed', async () => {
  const answer = await fetch(`${world.tree.apiUrl}/connect-element.js`, { headers: { origin: 'https://vendor.example' } })
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'cache-control': 'public, max-age=3600, stale-while-revalidate=86400',
    'x-content-type-options': 'nosniff',
  })
  expect(await answer.text()).toBe(readFileSync(new URL('../../portal/dist/connect-element.js', import.meta.url), 'utf8'))
  expect(gzipSync(readFileSync(new URL('../../portal/dist/connect-element.js', import.meta.url))).length).toBeLessThan(FILE_BYTES_MAX)
})
