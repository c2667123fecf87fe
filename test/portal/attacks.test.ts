import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { embeddedUrl } from '../../src/embedded-postgres.ts'
import { locateRun } from '../../src/run-directory.ts'
import { freePort } from '../support/ports.ts'
import { EDGE_HOST, type PortalWorld, startPortalWorld } from './portal-world.ts'

const ZONE = 'acme.namesake.example'
const ATTACK = '<img src=x onerror=alert(1)>'
const LONGEST_TASK_MS = 250 // the machine of the tests is shared
const COOKIE = 'namesake_session'

let world: PortalWorld
let database: pg.Client
beforeAll(async () => {
  world = await startPortalWorld({ NAMESAKE_DNS_ZONE: ZONE, NAMESAKE_DNS_ADDR: `127.0.0.1:${await freePort()}` })
  database = new pg.Client({ connectionString: embeddedUrl(locateRun(world.tree.dataDir)) })
  await database.connect()
})
afterEach(() => world.closePages())
afterAll(async () => {
  await database?.end()
  await world?.stop()
})

async function signedIn(email: string): Promise<Page> {
  const { page } = await world.open('/')
  await world.signIn(page, email)
  return page
}

async function makeProject(page: Page, slug: string): Promise<string> {
  const answer = await page.request.post(`${world.portalUrl}/v1/portal/projects`, {
    data: { name: slug, slug, upstreamUrl: world.upstreamUrl },
  })
  expect(answer.status()).toBe(200)
  return `${world.portalUrl}/v1/portal/projects/${slug}`
}

const sessionOf = async (page: Page) => (await page.context().cookies()).find(({ name }) => name === COOKIE)?.value

test('a link that is older than 15 minutes signs nobody in', async () => {
  const { page } = await world.open('/')
  const link = await world.askForLink(page, 'late@vendor.example')
  await database.query(`update sign_in_links set expires_at = now() - interval '1 second' where email = 'late@vendor.example'`)
  await page.goto(link)
  await page.getByRole('heading', { name: 'This link does not work any more' }).waitFor()
  expect(await sessionOf(page)).toBeUndefined()
})

test('who had to sign in first lands on the page that they wanted', async () => {
  const page = await signedIn('returning@vendor.example')
  await makeProject(page, 'returning')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/\/sign-in/)
  await page.goto(`${world.portalUrl}/projects/returning/members?x=1`)
  await page.waitForURL(/\/sign-in/)
  await page.goto(await world.askForLink(page, 'returning@vendor.example'))
  await page.waitForURL(/\/projects\/returning\/members/)
})

test('a page of another origin can neither change nor read anything with the cookie of who is signed in', async () => {
  const page = await signedIn('victim@vendor.example')
  const project = await makeProject(page, 'victim')
  const evil = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<h1>Evil</h1>')).listen(
    0,
    '127.0.0.1',
  )
  await once(evil, 'listening')
  const { port } = evil.address() as AddressInfo
  // Another port of the same host is same-site to a browser, so its cookies come along; another host is cross-site.
  for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
    await page.goto(origin)
    const outcomes = await page.evaluate(
      async ({ base, url }) => {
        const tries = [
          fetch(`${base}/v1/portal/projects`, { credentials: 'include' }).then((answer) => answer.text()),
          fetch(url, { method: 'DELETE', credentials: 'include' }),
          fetch(`${url}/domains`, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"hostname":"a.evil.example"}' }),
          fetch(`${base}/v1/auth/sign-out`, { method: 'POST', mode: 'no-cors', credentials: 'include' }),
        ]
        return (await Promise.allSettled(tries)).map(({ status }) => status)
      },
      { base: world.portalUrl, url: project },
    )
    expect(outcomes.slice(0, 2)).toEqual(['rejected', 'rejected'])
    await page.setContent(
      `<form method="post" action="${world.portalUrl}/v1/auth/sign-out" enctype="text/plain"><input name='{"x":"' value='"}'></form>`,
    )
    await page.evaluate('document.forms[0].submit()')
    await page.waitForURL(/sign-out/)
  }
  evil.close()
  await page.goto(`${world.portalUrl}/projects/victim`)
  await page.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
})

test('a session that somebody planted before the sign-in is worth nothing after it', async () => {
  const attacker = await signedIn('attacker@vendor.example')
  const planted = (await sessionOf(attacker))!
  const { page } = await world.open('/')
  for (const value of [planted, 'A'.repeat(planted.length)]) {
    await page.context().addCookies([{ name: COOKIE, value, url: world.portalUrl }])
    await world.signIn(page, 'fixed@vendor.example')
    expect(await sessionOf(page)).not.toBe(value)
    const me = await page.request.get(`${world.portalUrl}/v1/auth/me`)
    expect(await me.json()).toMatchObject({ email: 'fixed@vendor.example' })
  }
  // Whoever planted it has lost it, too.
  expect((await attacker.request.get(`${world.portalUrl}/v1/auth/me`)).status()).toBe(401)
})

test('markup in hostnames, in addresses of pages and in what the DNS answers is shown as text', async () => {
  const page = await signedIn('markup@vendor.example')
  const project = await makeProject(page, 'markup')
  const alerts: string[] = []
  page.on('dialog', (dialog) => {
    alerts.push(dialog.message())
    void dialog.dismiss()
  })
  await page.goto(`${world.portalUrl}/projects/markup`)
  await page.getByRole('button', { name: 'Add many' }).click()
  await page.getByLabel('Hostnames').fill(`"><script>alert(1)</script>\n<svg/onload=alert(1)>.customer.com`)
  await page.getByRole('button', { name: /^Add \d domains$/ }).click()
  await page.getByText('2 refused').waitFor()
  await page.getByText('<svg/onload=alert(1)>.customer.com', { exact: true }).waitFor()
  world.dns.set('found.markup-customer.com', 'CNAME', `${ATTACK}.example.net`)
  world.dns.set('text.markup-customer.com', 'TXT', `${ATTACK} ${EDGE_HOST}`)
  for (const name of ['found', 'text']) {
    await page.request.post(`${project}/domains`, { data: { hostname: `${name}.markup-customer.com` } })
    await page.request.post(`${project}/domains/${name}.markup-customer.com/check`)
    await page.goto(`${world.portalUrl}/projects/markup/domains/${name}.markup-customer.com`)
    await page.getByText('onerror').first().waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
  }
  for (const path of [`/domains/${encodeURIComponent(ATTACK)}`, `?search=${encodeURIComponent(ATTACK)}`]) {
    await page.goto(`${world.portalUrl}/projects/markup${path}`)
    await page.getByRole('heading').first().waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
  }
  expect(alerts).toEqual([])
})

test('the command beside a new token works in a shell as it was copied', async () => {
  const page = await signedIn('curl@vendor.example')
  await makeProject(page, 'curl')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: world.portalUrl })
  await page.goto(`${world.portalUrl}/projects/curl/tokens`)
  await page.getByRole('button', { name: 'New token' }).first().click()
  await page.getByLabel('Name').fill('sh')
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByRole('button', { name: 'Copy Try it' }).click()
  const command = await page.evaluate<string>('navigator.clipboard.readText()')
  const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -s -w ' %{http_code}'`])
  expect(stdout).toBe('[] 200')
})

test('the steps are at once those of the DNS provider that the name servers tell', async () => {
  const page = await signedIn('provider@vendor.example')
  const project = await makeProject(page, 'provider')
  world.dns.set('gandi-customer.com', 'NS', 'ns-12-a.gandi.net', 'ns-34-b.gandi.net')
  await page.request.post(`${project}/domains`, { data: { hostname: 'shop.gandi-customer.com' } })
  await page.request.post(`${project}/domains/shop.gandi-customer.com/check`)
  await page.goto(`${world.portalUrl}/projects/provider/domains/shop.gandi-customer.com`)
  await page.getByText('Recognised by its name servers: Gandi').waitFor()
  await page.getByText('Sign in to Gandi and choose the domain gandi-customer.com').waitFor()
})

test('a wildcard shows the record that its certificate needs, to the vendor and to the customer', async () => {
  const page = await signedIn('wildcard@vendor.example')
  const project = await makeProject(page, 'wildcard')
  const one = `${project}/domains/${encodeURIComponent('*.wild-customer.com')}`
  await page.request.post(`${project}/domains`, { data: { hostname: '*.wild-customer.com' } })
  await page.request.post(`${one}/check`)
  await page.goto(`${world.portalUrl}/projects/wildcard`)
  await page.getByRole('link', { name: '*.wild-customer.com' }).click()
  await page.getByText('such as shop.wild-customer.com').waitFor()
  await page.getByRole('heading', { name: 'The record for the certificate' }).waitFor()
  await page.getByText('_acme-challenge', { exact: true }).waitFor()
  const { url } = (await (await page.request.post(`${one}/link`, { data: {} })).json()) as { url: string }
  const { page: customer } = await world.open('/')
  await customer.goto(url)
  await customer.getByRole('heading', { name: 'Connect all names below wild-customer.com' }).waitFor()
  await customer.getByText('_acme-challenge', { exact: true }).waitFor()
  world.dns.set('*.wild-customer.com', 'CNAME', EDGE_HOST)
  await customer.getByText('Almost: one more record').waitFor()
  await customer.getByText('To have a certificate for the wildcard, add a CNAME record named "_acme-challenge"').waitFor()
})

test('numbers in metadata keep the notation in which they were typed', async () => {
  const page = await signedIn('notation@vendor.example')
  const project = await makeProject(page, 'notation')
  await page.request.post(`${project}/domains`, {
    headers: { 'content-type': 'application/json' },
    data: Buffer.from('{"hostname":"shop.notation-customer.com","metadata":{"z":1.50,"1":1e3}}'),
  })
  await page.goto(`${world.portalUrl}/projects/notation/domains/shop.notation-customer.com`)
  const editor = page.getByLabel('Metadata as JSON')
  await editor.waitFor()
  expect(await editor.inputValue()).toBe('{\n  "z": 1.50,\n  "1": 1e3\n}')
})

test('a list of 10,000 domains scrolls from end to end without a task that a person would feel', async () => {
  const page = await signedIn('crowd@vendor.example')
  const project = await makeProject(page, 'crowd')
  await world.tree.command('projects', 'update', '--slug', 'crowd', '--plan', 'unlimited')
  for (let batch = 0; batch < 10; batch++) {
    const hostnames = Array.from({ length: 1_000 }, (_, n) => `shop-${String(batch * 1_000 + n).padStart(5, '0')}.crowd-customer.com`)
    expect((await page.request.post(`${project}/domains/bulk`, { data: { hostnames }, timeout: 60_000 })).status()).toBe(200)
  }
  await page.goto(`${world.portalUrl}/projects/crowd`)
  await page.getByRole('link', { name: 'crowd-customer.com' }).first().waitFor()
  await page.evaluate(
    `window.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' })`,
  )
  const last = page.getByRole('link', { name: 'shop-00000.crowd-customer.com' })
  await expect
    .poll(
      async () => {
        await page.evaluate('window.scrollBy(0, 4000)')
        return last.count()
      },
      { timeout: 240_000, interval: 30 },
    )
    .toBe(1)
  expect(await page.getByRole('row').count()).toBeLessThan(80)
  // A task of ours would be there each time; one in which the machine did something else is not.
  let longest = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 4 && longest >= LONGEST_TASK_MS; tries += 1) {
    await page.evaluate(`tasks.length = 0; new Promise((done) => {
      let left = 300
      const step = () => (left-- > 0 ? (scrollBy(0, -120), requestAnimationFrame(step)) : done())
      step()
    })`)
    longest = Math.max(0, ...(await page.evaluate<number[]>('tasks')))
  }
  expect(longest).toBeLessThan(LONGEST_TASK_MS)
}, 600_000)
