import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { findBarriers } from './chromium.ts'
import { EDGE_HOST, type PortalWorld, startPortalWorld } from './portal-world.ts'

const SEEN_WITHIN_MS = 60_000 // a heartbeat of the stream, and the pause before the next try

let world: PortalWorld
beforeAll(async () => {
  world = await startPortalWorld()
})
afterEach(() => world.closePages())
afterAll(async () => {
  await world?.stop()
})

/** Somebody's page of a project of their own, and where the API has the project. */
async function openProject(slug: string, ...hostnames: string[]): Promise<{ page: Page; project: string }> {
  const { page } = await world.open('/')
  await world.signIn(page, `${slug}@vendor.example`)
  await page.request.post(`${world.portalUrl}/v1/portal/projects`, { data: { name: slug, slug, upstreamUrl: world.upstreamUrl } })
  const project = `${world.portalUrl}/v1/portal/projects/${slug}`
  for (const hostname of hostnames) await page.request.post(`${project}/domains`, { data: { hostname } })
  return { page, project }
}

/** Ends the session of the page's browser elsewhere, and saves what was typed all the same. */
async function endSession(page: Page): Promise<void> {
  await page.request.post(`${world.portalUrl}/v1/auth/sign-out`)
  await page.getByRole('button', { name: 'Save' }).first().click()
  await page.getByText('You were signed out').waitFor()
}

const refuseStreams = (page: Page) => page.route('**/events', (route) => route.fulfill({ status: 429, headers: { 'retry-after': '1' } }))

test('a list whose stream is refused for being one too many shows by itself what is added', async () => {
  const { page, project } = await openProject('crowded')
  await refuseStreams(page)
  await page.goto(`${world.portalUrl}/projects/crowded`)
  await page.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
  await page.request.post(`${project}/domains`, { data: { hostname: 'late.crowded-customer.com' } })
  await page.getByRole('link', { name: 'late.crowded-customer.com' }).waitFor({ timeout: SEEN_WITHIN_MS })
})

test('the page for the customer, without a stream, finds by itself that its link has ended', async () => {
  const { page: vendor, project } = await openProject('linking')
  const domain = `${project}/domains/shop.linking-customer.com`
  await vendor.request.post(`${project}/domains`, { data: { hostname: 'shop.linking-customer.com' } })
  const { url } = (await (await vendor.request.post(`${domain}/link`)).json()) as { url: string }
  const { page } = await world.open('/')
  await refuseStreams(page)
  await page.goto(url)
  await page.getByRole('heading', { name: 'Connect shop.linking-customer.com' }).waitFor()
  await vendor.request.delete(domain)
  await page.getByRole('heading', { name: 'This page has ended' }).waitFor({ timeout: SEEN_WITHIN_MS })
})

test('a page that is open while its session ends elsewhere leads to sign in', async () => {
  const { page } = await openProject('leaving')
  await page.goto(`${world.portalUrl}/projects/leaving`)
  await page.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
  await page.request.post(`${world.portalUrl}/v1/auth/sign-out`)
  await page.getByText('You were signed out').waitFor({ timeout: SEEN_WITHIN_MS })
})

test('settings that were typed when the session ended are there again after signing in, also where the link in the mail opens another tab', async () => {
  const { page, project } = await openProject('drafting')
  await page.goto(`${world.portalUrl}/projects/drafting/settings`)
  await page.getByLabel('Name', { exact: true }).fill('Drafted')
  await page.getByPlaceholder('#0f766e').fill('#123456')
  await endSession(page)
  const link = await world.askForLink(page, 'drafting@vendor.example')
  const tab = await page.context().newPage()
  await tab.goto(link)
  await tab.getByText('it is not saved yet').nth(1).waitFor()
  expect(await findBarriers(tab)).toEqual([])
  await tab.getByRole('button', { name: 'Save' }).first().click()
  await tab.getByText('Saved', { exact: true }).waitFor()
  await expect.poll(() => tab.getByText('it is not saved yet').count()).toBe(1)
  expect(await tab.getByPlaceholder('#0f766e').inputValue()).toBe('#123456')
  expect(await (await tab.request.get(project)).json()).toMatchObject({ name: 'Drafted', brand: { color: null } })
})

test('a project that was described when the session ended can be made after signing in', async () => {
  const { page } = await openProject('describing')
  await page.goto(`${world.portalUrl}/new-project`)
  await page.getByLabel('Name', { exact: true }).fill('Described')
  await page.getByLabel('Address of your application').fill(world.upstreamUrl)
  await page.request.post(`${world.portalUrl}/v1/auth/sign-out`)
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByText('You were signed out').waitFor()
  await page.goto(await world.askForLink(page, 'describing@vendor.example'))
  await page.getByText('You had typed this').waitFor()
  expect(await page.getByLabel('Address of your application').inputValue()).toBe(world.upstreamUrl)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('heading', { name: 'Described' }).waitFor()
  await page.goto(`${world.portalUrl}/new-project`)
  await page.getByRole('button', { name: 'Create project' }).waitFor()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('')
})

test('metadata that was typed when the session ended comes back in the same tab, and is shown to nobody else who signs in there', async () => {
  const hostname = 'shop.resuming-customer.com'
  const { page, project } = await openProject('resuming', hostname)
  await page.request.post(`${project}/members`, { data: { email: 'other@resuming.example', role: 'member' } })
  await world.mail.next('other@resuming.example')
  await page.goto(`${world.portalUrl}/projects/resuming/domains/${hostname}`)
  const metadata = page.getByLabel('Metadata as JSON')
  await metadata.fill('{"mine": 1}')
  await endSession(page)
  await world.signIn(page, 'resuming@vendor.example')
  await page.getByText('it is not saved yet').waitFor()
  expect(await metadata.inputValue()).toBe('{"mine": 1}')
  await endSession(page)
  await world.signIn(page, 'other@resuming.example')
  await metadata.waitFor()
  expect(await metadata.inputValue()).toBe('{}')
})

/** Nothing of what happens elsewhere is told to the page before it asks for itself. */
const holdStreams = (page: Page) => page.route('**/events', () => {})

test('a setting that is saved just behind a colleague’s change of it is not stored before it is saved once more; another one is at once', async () => {
  const { page, project } = await openProject('colliding')
  await holdStreams(page)
  await page.goto(`${world.portalUrl}/projects/colliding/settings`)
  const name = page.getByLabel('Name', { exact: true })
  const color = page.getByPlaceholder('#0f766e')
  const [general, brand] = ['General', 'Your customers see'].map((title) => page.getByRole('region', { name: title }))
  const stored = async () => (await page.request.get(project)).json()
  await name.fill('Mine')
  await color.fill('#111111')
  await page.request.patch(project, { data: { name: 'Theirs', brand: { logoUrl: 'https://vendor.example/logo.png' } } })
  await general!.getByRole('button', { name: 'Save' }).click()
  await general!.getByText('Nothing was saved').waitFor()
  await general!.getByText('This was changed elsewhere meanwhile').waitFor()
  expect(await findBarriers(page)).toEqual([])
  expect([await name.inputValue(), (await stored()).name]).toEqual(['Mine', 'Theirs'])
  await page.request.patch(project, { data: { errorPage: '<p>Back soon</p>', brand: { logoUrl: 'https://vendor.example/new.png' } } })
  await brand!.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()
  await general!.getByRole('button', { name: 'Save' }).click()
  await expect.poll(stored).toMatchObject({
    name: 'Mine',
    errorPage: '<p>Back soon</p>',
    brand: { color: '#111111', logoUrl: 'https://vendor.example/new.png' },
  })
  await general!.getByText('Nothing was saved').waitFor({ state: 'detached' })
})

test('metadata that is saved just behind the application’s own change does not replace that before it is saved once more', async () => {
  const hostname = 'shop.colliding-customer.com'
  const { page, project } = await openProject('overwriting', hostname)
  await holdStreams(page)
  await page.goto(`${world.portalUrl}/projects/overwriting/domains/${hostname}`)
  const stored = async () => (await page.request.get(`${project}/domains/${hostname}`)).json()
  await page.getByLabel('Metadata as JSON').fill('{"mine": 1}')
  await page.request.patch(`${project}/domains/${hostname}`, { data: { metadata: { theirs: 2 } } })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Nothing was saved').waitFor()
  await page.getByText('This was changed elsewhere meanwhile').waitFor()
  expect(await findBarriers(page)).toEqual([])
  expect(await stored()).toMatchObject({ metadata: { theirs: 2 } })
  await page.getByRole('button', { name: 'Save' }).click()
  await expect.poll(stored).toMatchObject({ metadata: { mine: 1 } })
})

test('a role that is chosen just behind a colleague’s change of it is not stored before it is chosen once more', async () => {
  const { page, project } = await openProject('ranking')
  const member = `${project}/members/grace@ranking.example`
  await page.request.post(`${project}/members`, { data: { email: 'grace@ranking.example', role: 'member' } })
  await holdStreams(page)
  await page.goto(`${world.portalUrl}/projects/ranking/members`)
  const choice = page.getByLabel('Role of grace@ranking.example')
  const stored = async () =>
    ((await (await page.request.get(`${project}/members`)).json()) as { email: string; role: string }[]).find(
      ({ email }) => email === 'grace@ranking.example',
    )!.role
  await choice.waitFor()
  await page.request.patch(member, { data: { role: 'owner' } })
  await choice.selectOption('admin')
  await page.getByText('Nothing was saved').waitFor()
  await expect.poll(() => choice.inputValue()).toBe('owner')
  expect(await stored()).toBe('owner')
  await page.request.patch(member, { data: { role: 'member' } })
  await page.reload()
  await choice.selectOption('owner')
  await page.request.patch(member, { data: { role: 'admin' } })
  await page.getByRole('button', { name: 'Change role' }).click()
  await page.getByText('Nothing was saved').waitFor()
  await expect.poll(() => choice.inputValue()).toBe('admin')
  await choice.and(page.locator(':not([aria-disabled])')).waitFor()
  await choice.selectOption('member')
  await expect.poll(stored).toBe('member')
})

test('behind a proxy that makes tags weak, or adds a word to them, settings are saved as ever', async () => {
  const { page, project } = await openProject('compressed')
  const written = ['W/"$1"', '"$1-gzip"']
  await page.route('**/v1/portal/projects/compressed', async (route) => {
    const response = await route.fetch()
    const etag = response.headers().etag!.replace(/"(.*)"/, written[route.request().method() === 'GET' ? 0 : 1]!)
    await route.fulfill({ response, headers: { ...response.headers(), etag } })
  })
  await page.goto(`${world.portalUrl}/projects/compressed/settings`)
  for (const name of ['One', 'Two']) {
    await page.getByLabel('Name', { exact: true }).fill(name)
    const saved = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('button', { name: 'Save' }).first().click()
    expect((await saved).headers()['if-match']).toMatch(/^"[0-9a-f]{32}"$/)
    await expect.poll(async () => (await (await page.request.get(project)).json()).name).toBe(name)
  }
})

const DIALOGS = [
  { path: '', opener: 'Add domain', label: 'Hostname', typed: 'shop.typing-customer.com' },
  { path: '', opener: 'Add many', label: 'Hostnames', typed: 'one.typing-customer.com\ntwo.typing-customer.com' },
  { path: '/members', opener: 'Invite', label: 'E-mail address', typed: 'grace@typing.example' },
  { path: '/tokens', opener: 'New token', label: 'Name (optional)', typed: 'Billing' },
]

test.each(DIALOGS)(
  'what was typed into “$opener” is there again after Escape, a press beside it and the end of the session, and is not after Cancel',
  async ({ path, opener, label, typed }) => {
    const slug = `typing-${opener.toLowerCase().replace(' ', '-')}`
    const { page } = await openProject(slug)
    await holdStreams(page)
    await page.goto(`${world.portalUrl}/projects/${slug}${path}`)
    const dialog = page.getByRole('dialog')
    const field = dialog.getByLabel(label, { exact: true })
    const open = () => page.getByRole('button', { name: opener, exact: true }).click()
    await open()
    await field.fill(typed)
    for (const leave of [() => page.keyboard.press('Escape'), () => page.mouse.click(5, 400)]) {
      const isThereAfter = () => leave().then(() => dialog.isVisible())
      await expect.poll(isThereAfter).toBe(false) // the dialog listens a moment after it is there
      await open()
      expect(await field.inputValue()).toBe(typed)
    }
    await page.request.post(`${world.portalUrl}/v1/auth/sign-out`)
    await dialog.locator('[type=submit]').click()
    await page.getByText('You were signed out').waitFor()
    await world.signIn(page, `${slug}@vendor.example`)
    await dialog.getByText('You had typed this').waitFor()
    expect(await field.inputValue()).toBe(typed)
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await open()
    expect(await field.inputValue()).toBe('')
  },
)

test('a page that is open while its member is removed says that there is nothing for them any more', async () => {
  const { page: owner, project } = await openProject('shrinking')
  await owner.request.post(`${project}/members`, { data: { email: 'removed@vendor.example', role: 'member' } })
  await world.mail.next('removed@vendor.example')
  const { page } = await world.open('/')
  await world.signIn(page, 'removed@vendor.example')
  await page.goto(`${world.portalUrl}/projects/shrinking`)
  await page.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
  const removed = await owner.request.delete(`${project}/members/removed@vendor.example`)
  expect(removed.ok()).toBe(true)
  await page.getByRole('heading', { name: 'There is nothing here for you' }).waitFor({ timeout: SEEN_WITHIN_MS })
})

test('a domain that is removed elsewhere goes from its open page', async () => {
  const hostname = 'shop.vanishing-customer.com'
  const { page, project } = await openProject('vanishing', hostname)
  await page.goto(`${world.portalUrl}/projects/vanishing/domains/${hostname}`)
  const metadata = page.getByLabel('Metadata as JSON')
  await metadata.waitFor()
  await page.request.patch(`${project}/domains/${hostname}`, { data: { metadata: { told: 'by the stream' } } })
  await expect.poll(() => metadata.inputValue()).toContain('by the stream') // which tells of nothing before it is up
  await page.request.delete(`${project}/domains/${hostname}`)
  await page.getByRole('heading', { name: 'There is nothing here for you' }).waitFor({ timeout: SEEN_WITHIN_MS })
})

test('whoever removes a domain never reads that it is gone, also where the news of that come before the answer', async () => {
  const hostname = 'shop.leaving-customer.com'
  const { page } = await openProject('removing', hostname)
  await page.goto(`${world.portalUrl}/projects/removing/domains/${hostname}`)
  const gone = page.waitForResponse((answer) => answer.url().endsWith(`/domains/${hostname}`) && answer.status() === 404)
  const { promise: seen, resolve: release } = Promise.withResolvers<void>()
  await page.route(`**/domains/${hostname}`, async (route) => {
    if (route.request().method() !== 'DELETE') return route.fallback()
    const response = await route.fetch()
    await seen
    await route.fulfill({ response })
  })
  await page.getByRole('button', { name: 'Remove domain' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('to confirm').fill(hostname)
  await dialog.getByRole('button', { name: 'Remove domain' }).click()
  await gone
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  expect(await page.getByRole('heading', { name: 'There is nothing here for you', includeHidden: true }).count()).toBe(0)
  release()
  await page.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
})

test('a list of what is verified gains a domain in its place once that is verified, and a list of what is not loses it', async () => {
  const hostnames = ['oldest', 'middle', 'newest'].map((name) => `${name}.narrowed-customer.com`)
  const { page, project } = await openProject('narrowed', ...hostnames)
  const verify = async (hostname: string) => {
    world.dns.set(hostname, 'CNAME', EDGE_HOST)
    await page.request.post(`${project}/domains/${hostname}/check`)
  }
  await verify(hostnames[0]!)
  await verify(hostnames[2]!)
  const others = await page.context().newPage()
  await others.goto(`${world.portalUrl}/projects/narrowed?verified=false&order=oldest`)
  await others.getByRole('link', { name: 'middle' }).waitFor()
  await page.goto(`${world.portalUrl}/projects/narrowed`)
  await page.getByRole('link', { name: 'middle' }).waitFor()
  await page.getByLabel('Show').selectOption('true') // the list of all is kept, and gets the news as well
  await page.getByRole('link', { name: 'middle' }).waitFor({ state: 'detached' })
  await verify(hostnames[1]!)
  await page.getByRole('link', { name: 'middle' }).waitFor({ timeout: SEEN_WITHIN_MS })
  await others.getByRole('heading', { name: 'No domain matches' }).waitFor({ timeout: SEEN_WITHIN_MS })
  expect(await page.getByRole('link', { name: 'narrowed-customer.com' }).allTextContents()).toEqual(hostnames.toReversed())
})

test('what is removed while a further page of the list is on its way stays away once that is there', async () => {
  const hostnames = Array.from({ length: 120 }, (_, n) => `shop-${String(n).padStart(3, '0')}.paging-customer.com`)
  const { page, project } = await openProject('paging')
  await world.tree.command('projects', 'update', '--slug', 'paging', '--plan', 'unlimited')
  await page.request.post(`${project}/domains/bulk`, { data: { hostnames } })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route(/\/domains\?.*cursor=/, (route) => released.then(() => route.continue()))
  await page.goto(`${world.portalUrl}/projects/paging`)
  await page.getByRole('link', { name: hostnames[119]! }).waitFor()
  await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
  await page.getByText('Loading more').waitFor()
  await page.getByRole('link', { name: hostnames[25]! }).waitFor()
  await page.request.delete(`${project}/domains/${hostnames[25]!}`)
  await page.getByRole('link', { name: hostnames[25]! }).waitFor({ state: 'detached', timeout: SEEN_WITHIN_MS })
  release()
  await page.getByRole('link', { name: hostnames[18]! }).waitFor()
  expect(await page.getByRole('link', { name: hostnames[25]! }).count()).toBe(0)
})

test('without a network a deed fails at once and is not done later, and a search says that nothing answered', async () => {
  const hostname = 'shop.offline-customer.com'
  const { page, project } = await openProject('offline', hostname)
  await page.goto(`${world.portalUrl}/projects/offline/domains/${hostname}`)
  await page.getByRole('button', { name: 'Remove domain' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('to confirm').fill(hostname)
  await page.context().setOffline(true)
  await dialog.getByRole('button', { name: 'Remove domain' }).click()
  await dialog.getByText('The service did not answer').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.context().setOffline(false)
  await page.getByRole('link', { name: 'Domains', exact: true }).click()
  await page.getByRole('link', { name: hostname }).waitFor()
  expect((await page.request.get(`${project}/domains/${hostname}`)).status()).toBe(200)
  await page.context().setOffline(true)
  await page.getByLabel('Search hostnames').fill('shop')
  await page.getByRole('alert').filter({ hasText: 'The service did not answer' }).waitFor({ timeout: SEEN_WITHIN_MS })
})

test('a list that was open before an upgrade adds domains as it did, and the next page is loaded anew', async () => {
  const { page } = await openProject('upgraded', 'shop.upgraded-customer.com')
  await page.goto(`${world.portalUrl}/projects/upgraded`)
  await page.getByRole('link', { name: 'shop.upgraded-customer.com' }).waitFor()
  let isOld = true
  page.on('request', (request) => {
    if (request.isNavigationRequest()) isOld = false
  })
  await page.route('**/assets/*', (route) => (isOld ? route.fulfill({ status: 404 }) : route.continue()))
  for (const name of ['Add domain', 'Add many']) {
    await page.getByRole('button', { name }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  }
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('heading', { name: 'Members' }).waitFor()
  expect(isOld).toBe(false)
})

test('the sign-in page of a hotel’s network in the place of the answer is told as none', async () => {
  const { page } = await world.open('/sign-in')
  await page.route('**/v1/auth/request-magic-link', (route) =>
    route.fulfill({ status: 200, contentType: 'text/html', body: '<!doctype html><title>Welcome to our hotel</title>' }),
  )
  await page.getByLabel('E-mail address').fill('guest@vendor.example')
  await page.getByRole('button', { name: 'Send me a link' }).click()
  await page.getByRole('alert').filter({ hasText: 'The service did not answer' }).waitFor()
})
