import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { visit } from '../support/visitor.ts'
import { findBarriers } from './chromium.ts'
import { EDGE_HOST, type PortalWorld, startPortalWorld } from './portal-world.ts'

const FIRST_LOAD_BYTES_MAX = 150 * 1024
const SEEN_WITHIN_MS = 60_000 // a look over HTTPS that failed on a busy machine is repeated after up to 16 s

let world: PortalWorld

beforeAll(async () => {
  world = await startPortalWorld()
})

afterEach(() => world.closePages())

afterAll(async () => {
  await world?.stop()
})

/** A project of its own, made through the form by somebody new. */
async function startProject(name: string, email = `${name.toLowerCase().replace(/\W+/g, '-')}@vendor.example`): Promise<Page> {
  const { page } = await world.open('/')
  await world.signIn(page, email)
  await page.getByRole('link', { name: 'New project' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Address of your application').fill(world.upstreamUrl)
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('link', { name: 'Add the first domain' }).click()
  await page.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
  return page
}

/** Whom the page's browser is signed in as. */
async function emailOf(page: Page): Promise<string> {
  const answer = await page.request.get(`${world.portalUrl}/v1/auth/me`)
  return ((await answer.json()) as { email: string }).email
}

async function addDomain(page: Page, hostname: string): Promise<void> {
  await page.getByRole('button', { name: 'Add domain' }).click()
  await page.getByLabel('Hostname', { exact: true }).fill(hostname)
  await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click()
  await page.getByRole('heading', { level: 1, name: hostname }).waitFor()
}

describe('signing in', () => {
  test('a new person gets a mail, follows its link, and is taught to create a project, whose address is tried at once', async () => {
    const { page, errors } = await world.open('/projects')
    await page.waitForURL(/\/sign-in/)
    await world.signIn(page, 'new@vendor.example')
    await page.getByRole('heading', { name: 'Create your first project' }).waitFor()
    expect(page.url()).not.toContain('token')
    await page.getByRole('link', { name: 'New project' }).click()
    await page.getByLabel('Name').fill('Unreachable')
    await page.getByLabel('Address of your application').fill('http://127.0.0.1:9')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByText('did not answer').first().waitFor()
    await page.goto(`${world.portalUrl}/new-project`)
    await page.getByLabel('Name').fill('Reachable')
    await page.getByLabel('Address of your application').fill(world.upstreamUrl)
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByText('answered with status 200').waitFor()
    expect(errors).toEqual([])
  })

  test('a link that was used, mangled or cut off says so and offers a new one', async () => {
    const { page } = await world.open('/')
    const link = await world.askForLink(page, 'twice@vendor.example')
    await page.goto(link)
    await page.waitForURL(/\/projects/)
    for (const spent of [link, `${link.slice(0, -4)}AAAA`, link.replace(/#.*/, '')]) {
      const { page: other } = await world.open('/')
      await other.goto(spent)
      await other.getByRole('heading', { name: 'This link does not work any more' }).waitFor()
      await other.getByRole('link', { name: 'Get a new link' }).waitFor()
      await other.context().close()
    }
  })

  test('a whole link that is pasted over one that was cut off is followed, and the skip link leaves it where it is', async () => {
    const { page } = await world.open('/')
    const link = await world.askForLink(page, 'pasting@vendor.example')
    const { page: other } = await world.open('/sign-in/confirm#token=cut-off')
    await other.getByRole('heading', { name: 'This link does not work any more' }).waitFor()
    await other.goto(link)
    await other.getByRole('heading', { name: 'Sign in as pasting@vendor.example' }).waitFor()
    await other.getByRole('link', { name: 'Skip to the content' }).focus()
    await other.keyboard.press('Enter')
    await other.waitForURL(/#content$/)
    await other.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
    await other.waitForURL(/\/projects/)
  })

  test('somebody else’s link signs nobody in before a button is pressed that says as whom, and whose session ends', async () => {
    const { page: attacker } = await world.open('/')
    const link = await world.askForLink(attacker, 'attacker@vendor.example')
    const { page: victim, errors } = await world.open('/')
    await world.signIn(victim, 'victim@vendor.example')
    await victim.goto(link)
    await victim.getByRole('heading', { name: 'Sign in as attacker@vendor.example' }).waitFor()
    await victim.getByText('You are signed in as victim@vendor.example').waitFor()
    expect(await findBarriers(victim)).toEqual([])
    expect(await emailOf(victim)).toBe('victim@vendor.example')
    await victim.getByRole('button', { name: 'Sign in' }).click()
    await victim.waitForURL(/\/projects/)
    expect(await emailOf(victim)).toBe('attacker@vendor.example')
    expect(victim.url()).not.toContain('token')
    expect(errors).toEqual([])
  })

  test('a link that was asked for at another computer, or at a browser that keeps nothing, needs the button', async () => {
    const { page: desk } = await world.open('/')
    const link = await world.askForLink(desk, 'two-computers@vendor.example')
    await desk.addInitScript('Object.defineProperty(window, "localStorage", { get() { throw new Error("kept out") } })')
    const { page: phone } = await world.open('/')
    for (const page of [desk, phone]) {
      await page.goto(link)
      await page.getByRole('heading', { name: 'Sign in as two-computers@vendor.example' }).waitFor()
      expect(await page.getByText('You are signed in as').count()).toBe(0)
    }
    await phone.getByRole('button', { name: 'Sign in' }).click()
    await phone.waitForURL(/\/projects/)
    await desk.getByRole('button', { name: 'Sign in' }).click()
    await desk.getByRole('heading', { name: 'This link does not work any more' }).waitFor()
  })

  test('a browser that asked long ago, or for another address since, asks first', async () => {
    const { page } = await world.open('/')
    const link = await world.askForLink(page, 'forgetful@vendor.example')
    await page.clock.setFixedTime(Date.now() + 60 * 60_000)
    await page.goto(link)
    await page.getByRole('heading', { name: 'Sign in as forgetful@vendor.example' }).waitFor()
    await page.clock.setFixedTime(Date.now())
    await world.askForLink(page, 'other@vendor.example')
    await page.goto(link)
    await page.getByRole('heading', { name: 'Sign in as forgetful@vendor.example' }).waitFor()
  })

  test('who asks for too many links reads for how long to wait, and that one may have come', async () => {
    const { page } = await world.open('/sign-in')
    for (let n = 0; n < 5; n++) await world.askForLink(page, 'impatient@vendor.example')
    await page.goto(`${world.portalUrl}/sign-in`)
    await page.getByLabel('E-mail address').fill('impatient@vendor.example')
    await page.getByRole('button', { name: 'Send me a link' }).click()
    await page.getByText('try again in 15 minutes').waitFor()
    await page.getByText('may be in your mail already').waitFor()
  })

  test('who is not signed in where too many came without a session is asked to sign in all the same', async () => {
    const { page } = await world.open('/')
    const statuses = new Set<number>()
    while (!statuses.has(429)) statuses.add((await page.request.get(`${world.portalUrl}/v1/auth/me`)).status())
    await page.goto(`${world.portalUrl}/projects`)
    await page.getByLabel('E-mail address').waitFor()
  })

  test('who signs out is asked to sign in again, on every page', async () => {
    const page = await startProject('Leaving')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/\/sign-in/)
    await page.goto(`${world.portalUrl}/projects/leaving`)
    await page.waitForURL(/\/sign-in/)
  })

  test('a project that one was invited to is not there before the next sign-in, and the 404 page says so', async () => {
    const { page: guest } = await world.open('/')
    await world.signIn(guest, 'guest@vendor.example')
    const owner = await startProject('Inviting')
    await owner.getByRole('link', { name: 'Members' }).click()
    await owner.getByRole('button', { name: 'Invite' }).click()
    await owner.getByLabel('E-mail address').fill('guest@vendor.example')
    await owner.getByRole('button', { name: 'Send invitation' }).click()
    await owner.getByRole('rowheader', { name: 'guest@vendor.example' }).waitFor()
    await world.mail.next('guest@vendor.example')
    await guest.goto(`${world.portalUrl}/projects/inviting`)
    await guest.getByText('Invitations show after signing in with a fresh link').waitFor()
    await guest.getByRole('link', { name: 'Get a fresh link' }).waitFor()
    await world.signIn(guest, 'guest@vendor.example')
    await guest.goto(`${world.portalUrl}/projects/inviting`)
    await guest.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
  })
})

describe('domains', () => {
  test('a domain goes from waiting to live while the page is open, once its record is in the DNS', async () => {
    const page = await startProject('Live Shop')
    await addDomain(page, 'shop.live-customer.com')
    const badge = (label: string) => page.getByText(label, { exact: true }).first().waitFor({ timeout: SEEN_WITHIN_MS })
    await badge('Waiting for DNS')
    await page.getByRole('heading', { name: 'The record to add' }).waitFor()
    world.dns.set('shop.live-customer.com', 'CNAME', 'old.example.net')
    await page.getByRole('button', { name: 'Check now' }).click()
    await badge('Wrong record')
    await page.getByText('old.example.net').first().waitFor()
    await page.getByRole('heading', { name: 'The record as it should be' }).waitFor()
    const { page: list } = await openBeside(page, '/projects/live-shop')
    await list.getByText('Wrong record', { exact: true }).waitFor()
    world.dns.set('shop.live-customer.com', 'CNAME', EDGE_HOST) // not before: an open page has it looked at within seconds
    await page.getByRole('button', { name: 'Check now' }).click()
    await badge('Live')
    await list.getByText('Live', { exact: true }).waitFor({ timeout: SEEN_WITHIN_MS })
    await page.getByText('Renewal planned').waitFor()
  })

  test('the steps are those of the DNS provider that was chosen, in the words of its form', async () => {
    const page = await startProject('Steps')
    await addDomain(page, 'www.steps-customer.co.uk')
    await page.getByLabel('DNS provider').selectOption('namecheap')
    await page.getByText('Manage › Advanced DNS').waitFor()
    await page.getByText('choose the domain steps-customer.co.uk').waitFor()
  })

  test('at a domain itself the steps leave the records alone by which its mail comes', async () => {
    const page = await startProject('Apex')
    world.dns.set('apex-customer.com', 'SOA', 'ns.apex-customer.com admin.apex-customer.com 1 7200 3600 1209600 60')
    world.dns.set('apex-customer.com', 'A', '198.51.100.1')
    await addDomain(page, 'apex-customer.com')
    await page.getByRole('button', { name: 'Check now' }).click()
    await page.getByText('apex-customer.com points to 198.51.100.1').waitFor()
    await page.getByLabel('DNS provider').selectOption('gandi')
    await page.getByText('Leave all others, such as MX and TXT').waitFor()
    expect(await page.getByText('If a record of this name exists already').count()).toBe(0)
  })

  test('the two names of an alias stand wherever its type does, and are not copied as one', async () => {
    const page = await startProject('Aliases')
    await page.route('**/v1/portal/**/domains/two-names.com', async (route) => {
      const response = await route.fetch()
      const details = (await response.json()) as { dns: object }
      const expected = [{ name: 'two-names.com', type: 'ALIAS', value: EDGE_HOST }]
      await route.fulfill({ response, json: { ...details, dns: { ...details.dns, expected } } })
    })
    await addDomain(page, 'two-names.com')
    await page.reload()
    await page.getByText('ALIAS or ANAME', { exact: true }).nth(1).waitFor() // the record, and the comparison
    expect(await page.getByText('ALIAS', { exact: true }).count()).toBe(0)
    const [record] = await page.getByRole('button', { name: 'Copy Value', exact: true }).all()
    await record!.waitFor()
    expect(await page.getByRole('button', { name: 'Copy Type', exact: true }).count()).toBe(0)
  })

  test('a certificate that could not be issued says why in a sentence, and what the authority said only where it said something', async () => {
    const page = await startProject('Failing')
    await addDomain(page, 'shop.failing-customer.com')
    let problem = { type: 'urn:namesake:error:connectionFailed' }
    await page.route('**/v1/portal/**/domains/shop.failing-customer.com', async (route) => {
      const response = await route.fetch()
      const details = (await response.json()) as { certificate: object }
      const certificate = { ...details.certificate, state: 'failed', lastError: { sentence: 'no connection to ca.example', problem } }
      await route.fulfill({ response, json: { ...details, certificate } })
    })
    await page.reload()
    await page.getByText('No connection to ca.example.', { exact: true }).waitFor()
    await page.getByText('What your operator may want to know').waitFor()
    problem = { type: 'urn:ietf:params:acme:error:unauthorized' }
    await page.reload()
    await page.getByText('What the certificate authority said').waitFor()
  })

  test('many are pasted, and what is refused says why', async () => {
    const page = await startProject('Many')
    await page.getByRole('button', { name: 'Add many' }).click()
    await page.getByLabel('Hostnames').fill('a.many-customer.com\nb.many-customer.com, not_a_name\n a.many-customer.com')
    await page.getByRole('button', { name: 'Add 3 domains' }).click()
    await page.getByText('2 added, 1 refused').waitFor()
    await page.getByText('not_a_name', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: 'b.many-customer.com' }).waitFor()
    await page.getByRole('button', { name: 'Add many' }).click()
    const field = page.getByLabel('Hostnames', { exact: true })
    expect(await field.inputValue()).toBe('not_a_name')
    const names = Array.from({ length: 201 }, (_, n) => `not_a_name_${n}`).join('\n')
    await field.fill(names)
    await page.getByRole('button', { name: 'Add 201 domains' }).click()
    await page.getByText('0 added, 201 refused').waitFor()
    await page.getByText('And 1 more').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Add many' }).click()
    expect(await field.inputValue()).toBe(names)
    await field.fill('c.many-customer.com')
    await page.getByRole('button', { name: 'Add 1 domain' }).click()
    await page.getByText('1 added').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Add many' }).click()
    expect(await field.inputValue()).toBe('')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Search hostnames').fill('b.many')
    await page.getByRole('link', { name: 'a.many-customer.com' }).waitFor({ state: 'detached' })
    expect(page.url()).toContain('search=b.many')
    await page.getByRole('link', { name: 'Domains', exact: true }).click()
    await page.getByRole('link', { name: 'a.many-customer.com' }).waitFor()
    expect(await page.getByLabel('Search hostnames').inputValue()).toBe('')
    await page.getByLabel('Search hostnames').fill('none-of-these')
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('link', { name: 'a.many-customer.com' }).waitFor()
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))') // longer than the search waits for more to be typed
    expect(page.url()).not.toContain('search')
    expect(await page.getByRole('link', { name: 'a.many-customer.com' }).count()).toBe(1)
  })

  test('a search finds a hostname however it is written: in capitals, as an address that was pasted, in the letters of its owner', async () => {
    const page = await startProject('Finding')
    const project = `${world.portalUrl}/v1/portal/projects/finding`
    const hostnames = ['shop.found-customer.com', 'xn--bcher-kva.found-customer.com']
    await page.request.post(`${project}/domains/bulk`, { data: { hostnames } })
    await page.goto(`${world.portalUrl}/projects/finding`)
    const rows = page.getByRole('link', { name: 'found-customer.com' })
    const search = page.getByLabel('Search hostnames')
    for (const [typed, found] of [
      ['SHOP.Found', hostnames[0]!],
      ['bücher.found', hostnames[1]!],
      ['https://Shop.Found-Customer.com/path?of=it', hostnames[0]!],
      ['xn--bcher', hostnames[1]!],
      ['SHOP', hostnames[0]!],
      ['Büch', hostnames[1]!],
    ] as const) {
      await search.fill(typed)
      await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining(found)])
      expect(await search.inputValue()).toBe(typed)
    }
    await page.request.post(`${project}/domains`, { data: { hostname: 'büchse.found-customer.com' } })
    await expect
      .poll(() => rows.allTextContents(), { timeout: SEEN_WITHIN_MS })
      .toEqual([expect.stringContaining('(büchse.found-customer.com)'), expect.stringContaining('(bücher.found-customer.com)')])
  })

  test('many are not given up by a press beside them, and what was sent without an answer is told, and can be sent again', async () => {
    const page = await startProject('Interrupted')
    await page.getByRole('button', { name: 'Add many' }).click()
    await page.getByLabel('Hostnames').fill(Array.from({ length: 250 }, (_, n) => `shop-${n}.interrupted-customer.com`).join('\n'))
    const lists = await holdRequests(page, /\/domains\/bulk$/, 'POST')
    await page.getByRole('button', { name: 'Add 250 domains' }).click()
    await expect.poll(() => lists.held).toBe(1)
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    await page.route(/\/domains\/bulk$/, (route) => route.abort())
    lists.release()
    await page.getByText('Of the last 100 that were sent, some may have been added').waitFor()
    await page.getByText('Stopped; 50 not sent.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add many' }).click()
    await page.getByRole('button', { name: 'Add 250 domains' }).waitFor() // to send them all again
  })

  test('whoever clears a search that found nothing stays in the list while it loads', async () => {
    const page = await startProject('Clearing')
    const hostname = 'shop.clearing-customer.com'
    await page.request.post(`${world.portalUrl}/v1/portal/projects/clearing/domains`, { data: { hostname } })
    await page.goto(`${world.portalUrl}/projects/clearing?search=none-of-these`)
    await page.getByRole('heading', { name: 'No domain matches' }).waitFor()
    const list = await holdRequests(page, /\/domains\?/)
    await page.getByLabel('Search hostnames').fill('')
    await expect.poll(() => list.held).toBeGreaterThan(0)
    await page.getByRole('heading', { name: 'No domain matches' }).waitFor({ state: 'detached' })
    expect(await page.getByRole('heading', { name: 'Add the first hostname' }).count()).toBe(0)
    expect(await page.evaluate<string>('document.activeElement.ariaLabel')).toBe('Search hostnames')
    list.release()
    await page.getByRole('link', { name: hostname }).waitFor()
  })

  test('metadata that is no JSON object is refused while it is typed; what is saved stays as typed', async () => {
    const page = await startProject('Meta')
    await addDomain(page, 'shop.meta-customer.com')
    const editor = page.getByLabel('Metadata as JSON')
    const save = page.getByRole('button', { name: 'Save' })
    await editor.fill('{"a": ')
    await page.getByText('This is not valid JSON').waitFor()
    expect(await save.isDisabled()).toBe(true)
    await editor.fill('[1]')
    await page.getByText('Metadata is a JSON object').waitFor()
    await editor.fill('{"z":1.50,"a":2}')
    await save.click()
    await page.getByText('Metadata saved').waitFor()
    const answer = await page.request.get(`${world.portalUrl}/v1/portal/projects/meta/domains/shop.meta-customer.com`)
    expect(await answer.text()).toContain('"metadata":{"z":1.50,"a":2}')
  })

  test('metadata that is typed while a save is under way stays, and is saved after it', async () => {
    const page = await startProject('Typing')
    await addDomain(page, 'shop.typing-customer.com')
    const editor = page.getByLabel('Metadata as JSON')
    const save = page.getByRole('button', { name: 'Save' })
    const saves = await holdRequests(page, /\/domains\/shop\.typing-customer\.com$/, 'PATCH')
    await editor.fill('{"first": 1}')
    await save.click()
    await expect.poll(() => saves.held).toBe(1)
    await editor.fill('{"first": 1, "second": 2}')
    await editor.press('Tab')
    await page.keyboard.press('Enter') // nothing is sent before the first has been answered
    saves.release()
    await page.getByText('Metadata saved').waitFor()
    expect(saves.held).toBe(1)
    expect(await editor.inputValue()).toBe('{"first": 1, "second": 2}')
    expect(await page.getByText('This was changed elsewhere').count()).toBe(0)
    await save.click()
    await expect.poll(() => editor.inputValue()).toBe('{\n  "first": 1,\n  "second": 2\n}')
  })

  test('what is typed and sent again in the very moment of a save makes no second one', async () => {
    const page = await startProject('Hurrying')
    await addDomain(page, 'shop.hurrying-customer.com')
    const saves = await holdRequests(page, /\/domains\/shop\.hurrying-customer\.com$/, 'PATCH')
    const editor = page.getByLabel('Metadata as JSON')
    await editor.fill('{"first": 1}')
    // What a busy machine makes of fast hands: one input event comes directly behind another, before any timer.
    await page.evaluate(`(async () => {
      const editor = document.querySelector('textarea')
      const next = (task) => scheduler.postTask(task, { priority: 'user-blocking' })
      editor.form.requestSubmit()
      await next(() => {
        Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(editor, '{"first": 1, "second": 2}')
        editor.dispatchEvent(new Event('input', { bubbles: true }))
      })
      await next(() => editor.form.requestSubmit())
    })()`)
    await expect.poll(() => saves.held).toBe(1)
    saves.release()
    await page.getByText('Metadata saved').waitFor()
    expect(saves.held).toBe(1)
    expect(await editor.inputValue()).toBe('{"first": 1, "second": 2}')
  })

  test('who edits metadata that the application has changed meanwhile is told before saving it', async () => {
    const page = await startProject('Merging')
    await addDomain(page, 'shop.merging-customer.com')
    const editor = page.getByLabel('Metadata as JSON')
    await editor.fill('{"mine": 1}')
    const domain = `${world.portalUrl}/v1/portal/projects/merging/domains/shop.merging-customer.com`
    await page.request.patch(domain, { data: { metadata: { theirs: 2 } } })
    await page.getByText('This was changed elsewhere').waitFor()
    await page.getByRole('button', { name: 'Revert' }).click()
    await page.getByText('This was changed elsewhere').waitFor({ state: 'detached' })
    expect(await editor.inputValue()).toContain('"theirs": 2')
  })

  test('a further page of the list that cannot be loaded says so and is asked for again by a button only', async () => {
    const page = await startProject('Failing List')
    const domains = `${world.portalUrl}/v1/portal/projects/failing-list/domains`
    await world.tree.command('projects', 'update', '--slug', 'failing-list', '--plan', 'unlimited')
    const hostnames = Array.from({ length: 150 }, (_, n) => `shop-${String(n).padStart(3, '0')}.failing-customer.com`)
    await page.request.post(`${domains}/bulk`, { data: { hostnames } })
    let asked = 0
    await page.route(/\/events(\?|$)/, () => {}) // news of the new domains would have the list read anew meanwhile
    await page.route(/\/domains\?.*cursor=/, (route) => {
      asked += 1
      return route.fulfill({
        status: 400,
        contentType: 'application/problem+json',
        json: { code: 'query_invalid', detail: 'not this time' },
      })
    })
    await page.goto(`${world.portalUrl}/projects/failing-list`)
    await page.getByRole('link', { name: 'failing-customer.com' }).first().waitFor()
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
    await page.getByRole('alert').filter({ hasText: 'ot this time' }).waitFor()
    const soFar = asked
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))')
    expect(asked).toBe(soFar)
    await page.unroute(/\/domains\?.*cursor=/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await reachByScrolling(page, hostnames[0]!)
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('a domain is removed only once its hostname was typed', async () => {
    const page = await startProject('Removing')
    await addDomain(page, 'shop.removed-customer.com')
    await page.getByRole('button', { name: 'Remove domain' }).click()
    const remove = page.getByRole('dialog').getByRole('button', { name: 'Remove domain' })
    await page.getByLabel('Type shop.removed-customer.com to confirm').fill('shop.removed-customer.co')
    expect(await remove.isDisabled()).toBe(true)
    await page.getByLabel('Type shop.removed-customer.com to confirm').fill('shop.removed-customer.com')
    await remove.click()
    await page.getByRole('heading', { name: 'Add the first hostname' }).waitFor()
  })
})

describe('the page for the customer', () => {
  test('whoever has the link sees the record without an account, mails it on, and sees it work without doing anything', async () => {
    const vendor = await startProject('Connecting')
    await addDomain(vendor, 'shop.connect-customer.com')
    await vendor.getByRole('button', { name: 'Link for your customer' }).click()
    await vendor.getByRole('button', { name: 'Make a link' }).click()
    const link = (await vendor.getByRole('dialog').locator('pre').first().textContent())!
    await vendor.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: world.portalUrl })
    await vendor.getByRole('button', { name: 'Copy Link for your customer' }).click()
    expect(await vendor.evaluate('navigator.clipboard.readText()')).toBe(link)
    const { page, errors } = await world.open('/')
    await page.goto(link.trim())
    await page.getByRole('heading', { name: 'Connect shop.connect-customer.com' }).waitFor()
    await page.getByText('Connecting', { exact: true }).waitFor()
    await page.getByLabel('Who manages the DNS of your domain?').selectOption('cloudflare')
    await page.getByText('the cloud must be grey').waitFor()
    await page.getByText('Add a CNAME record named "shop" in the DNS of connect-customer.com').waitFor() // what was found, in the API's own words
    expect(await findBarriers(page)).toEqual([])
    await page.getByLabel('Their e-mail address').fill('dns@connect-customer.com')
    await page.getByRole('button', { name: 'Send instructions' }).click()
    await page.getByText('The instructions were sent').waitFor()
    expect((await world.mail.next('dns@connect-customer.com')).raw).toContain('shop.connect-customer.com')
    world.dns.set('shop.connect-customer.com', 'CNAME', EDGE_HOST)
    await page.getByRole('heading', { name: 'It works' }).waitFor({ timeout: SEEN_WITHIN_MS })
    expect(await findBarriers(page)).toEqual([])
    expect(errors).toEqual([])
  })

  test('a name in other letters is shown to vendor and customer in both forms, and copied as the DNS writes it', async () => {
    const vendor = await startProject('Letters')
    await addDomain(vendor, 'shop.bücher-customer.com')
    const both = 'shop.bücher-customer.com in the DNS: shop.xn--bcher-customer-gsb.com'
    const inSentences = 'shop.xn--bcher-customer-gsb.com (shop.bücher-customer.com)'
    await vendor.getByText(`${inSentences} was added`).waitFor()
    await vendor.getByRole('heading', { name: both }).waitFor()
    await expect.poll(() => vendor.title()).toBe(`${inSentences} · Namesake`)
    await vendor.getByRole('button', { name: 'Check now' }).click()
    await vendor.getByText(`${inSentences}: Waiting for DNS`).waitFor()
    await vendor.getByRole('button', { name: 'Link for your customer' }).click()
    await vendor.getByRole('button', { name: 'Make a link' }).click()
    const link = (await vendor.getByRole('dialog').locator('pre').first().textContent())!
    const { page } = await world.open('/', { permissions: ['clipboard-read', 'clipboard-write'] })
    await page.goto(link.trim())
    await page.getByRole('heading', { name: `Connect ${both}` }).waitFor()
    await expect.poll(() => page.title()).toBe(`Connect ${inSentences} · Namesake`)
    await page.getByText(`${inSentences}: Waiting for DNS`).waitFor({ state: 'attached' })
    await page.getByText('In the DNS of xn--bcher-customer-gsb.com (bücher-customer.com):').waitFor()
    await page.getByRole('button', { name: 'Copy the name in full' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('shop.xn--bcher-customer-gsb.com')
    await vendor.goto(`${world.portalUrl}/projects/letters`)
    await vendor.getByRole('link', { name: inSentences }).click()
    await vendor.getByRole('button', { name: 'Remove domain' }).click()
    await vendor.getByRole('dialog').getByLabel('to confirm').fill('shop.xn--bcher-customer-gsb.com')
    await vendor.getByRole('dialog').getByRole('button', { name: 'Remove domain' }).click()
    await vendor.getByText(`${inSentences} was removed`).waitFor()
    await vendor.getByRole('link', { name: 'Activity' }).click()
    await vendor.getByText(`added the domain ${inSentences}`).waitFor()
  })

  test('on a phone what is wrong stands above the record and the long steps', async () => {
    const vendor = await startProject('Phones')
    world.dns.set('shop.phone-customer.com', 'CNAME', 'old-shop.example.net')
    await addDomain(vendor, 'shop.phone-customer.com')
    await vendor.getByRole('button', { name: 'Link for your customer' }).click()
    await vendor.getByRole('button', { name: 'Make a link' }).click()
    const link = (await vendor.getByRole('dialog').locator('pre').first().textContent())!
    const { page } = await world.open('/', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
    await page.goto(link.trim())
    await page.getByText('Almost: one thing to correct').waitFor({ timeout: SEEN_WITHIN_MS })
    await page.getByLabel('Who manages the DNS of your domain?').selectOption('godaddy')
    const box = await page.getByText('Almost: one thing to correct').boundingBox()
    expect(box!.y + box!.height).toBeLessThan(844) // seen without scrolling
    expect(box!.y).toBeLessThan((await page.getByRole('heading', { name: 'The record as it should be' }).boundingBox())!.y)
  })

  test('where only a wildcard record answers, the customer is told to add one, and that it is not seen yet', async () => {
    const vendor = await startProject('Hosters')
    world.dns.set('*.hosted-customer.com', 'A', '192.0.2.7')
    await addDomain(vendor, 'shop.hosted-customer.com')
    await vendor.getByText('it may stay').waitFor({ timeout: SEEN_WITHIN_MS })
    await vendor.getByText('something in it has to be changed').waitFor() // not "corrected"
    await vendor.getByRole('heading', { name: 'The record to add' }).waitFor()
    await vendor.getByRole('button', { name: 'Link for your customer' }).click()
    await vendor.getByRole('button', { name: 'Make a link' }).click()
    const link = (await vendor.getByRole('dialog').locator('pre').first().textContent())!
    const { page } = await world.open('/')
    await page.goto(link.trim())
    await page.getByText('We do not see the record yet').waitFor()
    await page.getByText('at present the wildcard record ("*") answers for shop.hosted-customer.com').waitFor()
    await page.getByRole('heading', { name: 'The record to add' }).waitFor()
    expect(await page.getByText('as it should be').count()).toBe(0)
  })

  test('the name is copied with one press, as short as most forms want it or in full', async () => {
    const vendor = await startProject('Copying')
    await addDomain(vendor, 'shop.copy-customer.com')
    await vendor.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: world.portalUrl })
    await vendor.getByRole('button', { name: 'Copy Name', exact: true }).first().click()
    expect(await vendor.evaluate('navigator.clipboard.readText()')).toBe('shop')
    await vendor.getByRole('button', { name: 'Copy the name in full' }).first().click()
    expect(await vendor.evaluate('navigator.clipboard.readText()')).toBe('shop.copy-customer.com')
    await vendor.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("kept out"))')
    await vendor.getByRole('button', { name: 'Copy Name', exact: true }).first().click()
    await vendor.getByRole('button', { name: 'Not copied' }).waitFor()
  })

  test('a mangled link says that the page has ended, and the whole one works when it is pasted over it', async () => {
    const vendor = await startProject('Pasting')
    const domain = `${world.portalUrl}/v1/portal/projects/pasting/domains`
    await vendor.request.post(domain, { data: { hostname: 'shop.pasting-customer.com' } })
    const link = await vendor.request.post(`${domain}/shop.pasting-customer.com/link`)
    const { url } = (await link.json()) as { url: string }
    const { page } = await world.open('/connect#mangled')
    await page.getByRole('heading', { name: 'This page has ended' }).waitFor()
    await page.goto(url)
    await page.getByRole('heading', { name: 'Connect shop.pasting-customer.com' }).waitFor()
  })
})

describe('tokens', () => {
  test('a token works, is masked ten seconds after it was shown, and is refused once revoked', async () => {
    const page = await startProject('Secret')
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page.clock.install()
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByLabel('Name').fill('production')
    const now = () => page.evaluate<number>('Date.now()')
    const beforeMs = await now()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByTestId('token').waitFor()
    const pausedMs = (await now()) + 2_000
    await page.clock.pauseAt(pausedMs)
    const token = await page.getByTestId('token').textContent()
    expect(token).toMatch(/^svc_[a-f0-9]{64}$/)
    const call = () => fetch(`${world.tree.apiUrl}/v1/edge/domains`, { headers: { authorization: `Bearer ${token}` } })
    expect((await call()).status).toBe(200)
    await page.clock.runFor(Math.max(0, 9_500 - (pausedMs - beforeMs)))
    expect(await page.content()).toContain(token)
    await page.clock.runFor(pausedMs - beforeMs + 600)
    await page.getByText('It cannot be shown again').waitFor()
    expect(await page.content()).not.toContain(token)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Revoke production' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Revoked', { exact: true }).waitFor()
    await expect.poll(async () => (await call()).status).toBe(401)
  })
})

describe('what others write', () => {
  const ATTACKS = [
    '<img src=x onerror=alert(1)>',
    '"><script>alert(1)</script>',
    "javascript:alert('1')",
    '{{constructor.constructor("alert(1)")()}}',
  ]

  test.each(ATTACKS)('%s as a name or metadata is shown as text and runs nothing', async (attack) => {
    const slug = `attack-${ATTACKS.indexOf(attack)}`
    const page = await startProject(`Attack ${ATTACKS.indexOf(attack)}`)
    const alerts: string[] = []
    page.on('dialog', (dialog) => {
      alerts.push(dialog.message())
      void dialog.dismiss()
    })
    const project = `${world.portalUrl}/v1/portal/projects/${slug}`
    await page.request.patch(project, { data: { name: attack } })
    await page.request.post(`${project}/tokens`, { data: { name: attack } })
    await page.request.post(`${project}/domains`, { data: { hostname: `${slug}.example.com`, metadata: { [attack]: attack } } })
    for (const path of ['', '/tokens', '/activity', '/settings', `/domains/${slug}.example.com`]) {
      await page.goto(`${world.portalUrl}/projects/${slug}${path}`)
      await page.getByText(attack).first().waitFor()
      expect(await page.locator('main img, main script').count()).toBe(0)
    }
    expect(alerts).toEqual([])
  })
})

describe('members', () => {
  test('who invites a member again with another role is told that it stays as it was, and where it is changed', async () => {
    const page = await startProject('Again')
    const members = `${world.portalUrl}/v1/portal/projects/again/members`
    await page.request.post(members, { data: { email: 'grace@again.example', role: 'member' } })
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill('grace@again.example')
    await dialog.getByLabel('Role').selectOption('admin')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await dialog.getByText('grace@again.example belongs to the project already, as Member. Change the role in the list.').waitFor()
    expect(await page.getByText('was invited').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByLabel('E-mail address').fill('lin@again.example')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await page.getByText('lin@again.example was invited').waitFor()
  })

  test('an arrow key gives no role of one’s own away, and makes nobody an owner, before that is asked', async () => {
    const page = await startProject('Ranks')
    const members = `${world.portalUrl}/v1/portal/projects/ranks/members`
    await page.request.post(members, { data: { email: 'second@ranks.example', role: 'member' } })
    await page.getByRole('link', { name: 'Members' }).click()
    const own = page.getByLabel('Role of ranks@vendor.example')
    await own.focus()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('heading', { name: 'Change your own role to Admin?' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await own.inputValue()).toBe('owner')
    await expect.poll(() => page.evaluate<string>('document.activeElement.ariaLabel')).toBe('Role of ranks@vendor.example')
    const second = page.getByLabel('Role of second@ranks.example')
    await second.selectOption('admin')
    await second.and(page.locator(':not([aria-disabled])')).waitFor()
    await second.selectOption('owner')
    await page.getByRole('heading', { name: 'Make second@ranks.example an owner?' }).waitFor()
    const roles = async () => (await (await page.request.get(members)).json()) as { email: string; role: string }[]
    expect(Object.fromEntries((await roles()).map(({ email, role }) => [email, role]))).toEqual({
      'ranks@vendor.example': 'owner',
      'second@ranks.example': 'admin',
    })
    await page.getByRole('button', { name: 'Change role' }).click()
    await expect.poll(async () => (await roles()).every(({ role }) => role === 'owner')).toBe(true)
  })
})

describe('the activity', () => {
  test('whoever joins and leaves is named once, in words', async () => {
    const owner = await startProject('Coming')
    const project = `${world.portalUrl}/v1/portal/projects/coming`
    await owner.request.post(`${project}/members`, { data: { email: 'guest@coming.example', role: 'member' } })
    await world.mail.next('guest@coming.example')
    const { page: guest } = await world.open('/')
    await world.signIn(guest, 'guest@coming.example')
    await guest.request.delete(`${project}/members/guest@coming.example`)
    await owner.goto(`${world.portalUrl}/projects/coming/activity`)
    const entries = owner.getByRole('listitem').filter({ hasText: 'guest@coming.example' })
    await entries.filter({ hasText: 'left the project' }).waitFor()
    const said = (await entries.allTextContents()).map((text) => text.replace(/\s+/g, ' '))
    expect(said[0]).toMatch(/^guest@coming\.example left the project /)
    expect(said[1]).toMatch(/^guest@coming\.example joined the project /)
  })

  test('says what changed in words, not in the names that the API has for it', async () => {
    const owner = await startProject('Telling')
    const project = `${world.portalUrl}/v1/portal/projects/telling`
    await owner.request.post(`${project}/members`, { data: { email: 'guest@telling.example', role: 'member' } })
    await owner.request.patch(`${project}/members/guest@telling.example`, { data: { role: 'admin' } })
    await owner.request.patch(project, { data: { upstreamUrl: 'http://127.0.0.1:9', upstreamProtocol: 'h2c' } })
    await owner.goto(`${world.portalUrl}/projects/telling/activity`)
    await owner.getByText('changed the role of guest@telling.example (from member, to admin)').waitFor()
    await owner.getByText('(address: http://127.0.0.1:9, spoken to over HTTP/2 in plain text)').waitFor()
    expect(await owner.getByText('upstream').count()).toBe(0)
  })
})

describe('settings', () => {
  test('the application can be spoken to over HTTP/2, as its address allows, and is tried that way at once', async () => {
    const page = await startProject('Calling')
    await page.getByRole('link', { name: 'Settings' }).click()
    const protocol = page.getByLabel('How your application is spoken to')
    await protocol.selectOption('h2')
    await page.getByText('HTTP/2 needs an https address here.').waitFor()
    await protocol.selectOption('h2c')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByText('it does not speak HTTP/2').waitFor() // the upstream of these tests speaks HTTP/1.1
    await page.reload()
    expect(await protocol.inputValue()).toBe('h2c')
  })

  test('a name of the vendor’s own is shown with the record to make first, refused before that is there, and then what customers are told', async () => {
    const page = await startProject('Named')
    await addDomain(page, 'shop.named-customer.com')
    await page.getByText(EDGE_HOST).first().waitFor()
    await page.goto(`${world.portalUrl}/projects/named/settings`)
    const card = page.getByRole('region', { name: 'Where customers point their DNS' })
    await card.getByText(`Your customers are told: ${EDGE_HOST}`).waitFor()
    await card.getByLabel('A name of your own').fill('customers.named.example')
    await card.getByText('The record to make first, in the DNS of named.example:').waitFor()
    await card.getByRole('button', { name: 'Save' }).click()
    await card
      .getByRole('alert')
      .filter({ hasText: `The record customers.named.example CNAME ${EDGE_HOST} is needed first.` })
      .waitFor()
    expect(await findBarriers(page)).toEqual([])
    world.dns.set('customers.named.example', 'CNAME', EDGE_HOST)
    await card.getByRole('button', { name: 'Save' }).click()
    await card.getByText('Your customers are told: customers.named.example').waitFor()
    await page.goto(`${world.portalUrl}/projects/named/domains/shop.named-customer.com`)
    await page.getByText('customers.named.example').first().waitFor()
    expect(await page.getByText(EDGE_HOST).count()).toBe(0)
    await page.goto(`${world.portalUrl}/projects/named/activity`)
    await page.getByText('(customers are told customers.named.example)').waitFor()
    await page.goto(`${world.portalUrl}/projects/named/settings`)
    await card.getByLabel('A name of your own').fill('')
    await card.getByRole('button', { name: 'Save' }).click()
    await card.getByText(`Your customers are told: ${EDGE_HOST}`).waitFor()
  })

  test('the customer whose record is right is told so, and shown no record, when the vendor’s own name leads elsewhere', async () => {
    const page = await startProject('Astray')
    const project = `${world.portalUrl}/v1/portal/projects/astray`
    world.dns.set('customers.astray.example', 'CNAME', EDGE_HOST)
    await page.request.patch(project, { data: { cnameTarget: 'customers.astray.example' } })
    world.dns.set('customers.astray.example', 'CNAME', 'old.example.net')
    world.dns.set('shop.astray-customer.com', 'CNAME', 'customers.astray.example')
    await page.request.post(`${project}/domains`, { data: { hostname: 'shop.astray-customer.com' } })
    const { url } = (await (await page.request.post(`${project}/domains/shop.astray-customer.com/link`)).json()) as { url: string }
    const { page: customer } = await world.open(url.replace(world.portalUrl, ''))
    await customer.getByText('Your record is right', { exact: true }).waitFor({ timeout: SEEN_WITHIN_MS })
    await customer.getByText('whoever owns astray.example must mend the record of customers.astray.example').first().waitFor()
    expect(await customer.getByRole('heading', { name: /^The records?/ }).count()).toBe(0)
  })

  test('saving one setting does not put back what a colleague has changed meanwhile, and shows it', async () => {
    const page = await startProject('Together')
    const project = `${world.portalUrl}/v1/portal/projects/together`
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByPlaceholder('#0f766e').fill('#0f766e')
    const elsewhere = world.upstreamUrl.replace('127.0.0.1', 'localhost')
    await page.request.patch(project, { data: { upstreamUrl: elsewhere, brand: { logoUrl: 'https://vendor.example/logo.png' } } })
    await page.getByLabel('Name', { exact: true }).fill('Together again')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByText('Saved').first().waitFor()
    await expect.poll(() => page.getByLabel('Address of your application').inputValue()).toBe(elsewhere)
    await page.getByRole('button', { name: 'Save' }).nth(1).click()
    const stored = async () => (await (await page.request.get(project)).json()) as { name: string; upstreamUrl: string; brand: object }
    await expect.poll(async () => (await stored()).brand).toEqual({ color: '#0f766e', logoUrl: 'https://vendor.example/logo.png' })
    expect(await stored()).toMatchObject({ name: 'Together again', upstreamUrl: elsewhere })
  })

  test('who edits a setting that a colleague has changed meanwhile is told before saving it, and keeps what they wrote', async () => {
    const page = await startProject('Overtaken')
    const project = `${world.portalUrl}/v1/portal/projects/overtaken`
    await page.getByRole('link', { name: 'Settings' }).click()
    const [general, brand] = ['General', 'Your customers see'].map((name) => page.getByRole('region', { name }))
    const name = general!.getByLabel('Name', { exact: true })
    const color = brand!.getByPlaceholder('#0f766e')
    await name.fill('Mine')
    await color.fill('#111111')
    await brand!.getByLabel('Address of your logo').fill('x')
    await brand!.getByLabel('Address of your logo').fill('') // put back by hand: it was not touched
    const theirs = { name: 'Theirs', brand: { color: '#222222', logoUrl: 'https://vendor.example/logo.png' } }
    await page.request.patch(project, { data: theirs })
    await general!.getByText('This was changed elsewhere').waitFor()
    await brand!.getByText('This was changed elsewhere').waitFor()
    expect(await brand!.getByLabel('Address of your logo').inputValue()).toBe('https://vendor.example/logo.png')
    expect(await findBarriers(page)).toEqual([])
    expect([await name.inputValue(), await color.inputValue()]).toEqual(['Mine', '#111111'])
    await general!.getByRole('button', { name: 'Revert' }).click()
    expect(await name.inputValue()).toBe('Theirs')
    await brand!.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await page.getByText('This was changed elsewhere').count()).toBe(0)
    expect(await (await page.request.get(project)).json()).toMatchObject({ name: 'Theirs', brand: { ...theirs.brand, color: '#111111' } })
  })
})

describe('the error page', () => {
  test('who edits its HTML is told when a colleague has stored another meanwhile, and can look at that', async () => {
    const page = await startProject('Outdated')
    await page.getByRole('link', { name: 'Settings' }).click()
    const card = page.getByRole('region', { name: 'While your application does not answer' })
    const editor = card.getByLabel('Your own HTML')
    await editor.fill('<p>mine</p>')
    await page.request.patch(`${world.portalUrl}/v1/portal/projects/outdated`, { data: { errorPage: '<p>theirs</p>' } })
    await page.getByText('This was changed elsewhere').waitFor()
    await card.getByRole('button', { name: 'Revert' }).click()
    await page.getByText('This was changed elsewhere').waitFor({ state: 'detached' })
    expect(await editor.inputValue()).toBe('<p>theirs</p>')
  })

  const HTML = '<!doctype html><style>p { color: teal }</style><p>Acme is back soon at {{hostname}}: {{requestId}}</p>'
  const visitFailing = async (hostname: string) => {
    const { tree } = world
    const { certPem } = await tree.command<{ certPem: string }>('ca')
    const headers = { accept: 'text/html' }
    return visit({ port: tree.httpsPort, hostname, ca: certPem, method: 'POST', headers })
  }

  test('is shown as visitors will see it, takes the vendor’s own HTML, and is what visitors get', async () => {
    const page = await startProject('Falling')
    const hostname = 'falling.customer.com'
    world.dns.set(hostname, 'CNAME', EDGE_HOST)
    await addDomain(page, hostname)
    await page.getByText('Live', { exact: true }).first().waitFor({ timeout: SEEN_WITHIN_MS })
    await world.tree.command('projects', 'update', '--slug', 'falling', '--upstream', 'http://127.0.0.1:9')
    await page.getByRole('link', { name: 'Settings' }).click()
    const preview = page.frameLocator('iframe[title="Preview of the page that visitors see"]')
    await preview.getByRole('heading', { name: 'This page is not available right now' }).waitFor()
    await expect.poll(async () => (await visitFailing(hostname)).body, { timeout: SEEN_WITHIN_MS }).toContain('Falling')
    await page.getByLabel('Your own HTML').fill(`${HTML}<script>document.body.textContent = 'ran'</script>`)
    await page.getByRole('button', { name: 'Save' }).last().click()
    await preview.getByText('Acme is back soon at shop.customer.com').waitFor()
    await expect
      .poll(async () => (await visitFailing(hostname)).body, { timeout: SEEN_WITHIN_MS })
      .toContain(`Acme is back soon at ${hostname}`)
    await page.getByLabel('Your own HTML').fill('x'.repeat(33_000))
    await page.getByText('A page may have 32 KB.').waitFor()
    await page.getByLabel('Your own HTML').fill('')
    await page.getByRole('button', { name: 'Save' }).last().click()
    await preview.getByRole('heading', { name: 'This page is not available right now' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
  })
})

describe('the page itself', () => {
  test('the first load needs under 150 KB of compressed script, and asks nobody else', async () => {
    const { page } = await world.open('/inbox')
    let bytes = 0
    const strangers: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(world.portalUrl)) strangers.push(request.url())
    })
    page.on('requestfinished', async (request) => {
      if (request.resourceType() === 'script') bytes += (await request.sizes()).responseBodySize
    })
    await page.goto(`${world.portalUrl}/sign-in`, { waitUntil: 'networkidle' })
    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThan(FIRST_LOAD_BYTES_MAX)
    expect(strangers).toEqual([])
  })

  test('the example in an empty field is as readable in the dark as the hint below it', async () => {
    const { page } = await world.open('/', { colorScheme: 'dark' })
    await world.signIn(page, 'dark@vendor.example')
    await page.request.post(`${world.portalUrl}/v1/portal/projects`, { data: { name: 'Dark', upstreamUrl: world.upstreamUrl } })
    await page.request.post(`${world.portalUrl}/v1/portal/projects/dark/domains`, { data: { hostname: 'shop.dark-customer.com' } })
    await page.goto(`${world.portalUrl}/new-project`)
    await page.getByLabel('Name').waitFor()
    const hint = await page.evaluate(`getComputedStyle(document.querySelector('form input ~ p')).color`)
    const example = () => page.evaluate(`getComputedStyle(document.querySelector('main input'), '::placeholder').color`)
    expect(await example()).toBe(hint)
    await page.goto(`${world.portalUrl}/projects/dark`)
    await page.getByLabel('Search hostnames').waitFor()
    expect(await example()).toBe(hint)
  })

  test('the frame of the keyboard is drawn around what it can press, not around the whole page that it goes on in', async () => {
    const { page } = await world.open('/')
    await world.signIn(page, 'framed@vendor.example')
    await page.getByRole('link', { name: 'New project' }).press('Enter')
    await page.getByRole('heading', { name: 'New project' }).waitFor()
    const focused = () => page.evaluate('[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]')
    await expect.poll(focused).toEqual(['MAIN', 'none'])
    await page.keyboard.press('Tab')
    expect(await focused()).toEqual(['INPUT', 'solid'])
  })

  test('a phone shows who is signed in', async () => {
    const { page } = await world.open('/', { viewport: { width: 320, height: 640 } })
    await world.signIn(page, 'on-a-small-phone@department.vendor.example')
    await page.getByText('on-a-small-phone@department.vendor.example').waitFor()
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
  })

  test('the longest of hostnames is broken on a phone, on its page, in its dialogs and on its customer’s page', async () => {
    const { page } = await world.open('/', { viewport: { width: 360, height: 740 } })
    await world.signIn(page, 'long@vendor.example')
    const projects = `${world.portalUrl}/v1/portal/projects`
    await page.request.post(projects, { data: { name: 'Long', upstreamUrl: world.upstreamUrl } })
    const hostname = `${['a', 'b', 'c'].map((letter) => letter.repeat(63)).join('.')}.${'d'.repeat(53)}.example`
    await page.request.post(`${projects}/long/domains`, { data: { hostname } })
    await page.request.post(`${projects}/long/domains/${hostname}/check`)
    await page.goto(`${world.portalUrl}/projects/long/domains/${hostname}`)
    await page.getByText('Add a CNAME record').waitFor()
    await page.getByLabel('DNS provider').selectOption('other')
    expect(await tooWide(page)).toEqual([])
    await page.getByRole('button', { name: 'Remove domain' }).click()
    await page.getByLabel('to confirm').waitFor()
    expect(await tooWide(page)).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Link for your customer' }).click()
    await page.getByRole('button', { name: 'Make a link' }).click()
    const link = await page.getByRole('dialog').locator('pre').first().textContent()
    expect(await tooWide(page)).toEqual([])
    await page.goto(link!.trim())
    await page.getByLabel('Who manages the DNS of your domain?').selectOption('other')
    expect(await tooWide(page)).toEqual([])
    await page.goto(`${world.portalUrl}/projects/long/activity`)
    await page.getByText(hostname).first().waitFor()
    expect(await tooWide(page)).toEqual([])
  })

  test('everything of a new project can be done with the keyboard alone, and axe finds no serious barrier on the way', async () => {
    const page = await startProject('Keyboard')
    await page.getByRole('button', { name: 'Add domain' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => page.evaluate<string>('document.activeElement.textContent')).toBe('Add domain')
    await page.keyboard.press('Enter')
    await page.keyboard.type('key.keyboard-customer.com')
    await page.keyboard.press('Enter')
    const heading = page.getByRole('heading', { level: 1, name: 'key.keyboard-customer.com' })
    await heading.waitFor()
    expect(await findBarriers(page)).toEqual([])
    const focused = () => page.evaluate<string>('document.activeElement.tagName')
    await expect.poll(focused).toBe('MAIN') // what was pressed is gone with its dialog, or with its list
    await page.getByRole('link', { name: 'Domains' }).first().press('Enter')
    await page.getByRole('link', { name: 'key.keyboard-customer.com' }).press('Enter')
    await heading.waitFor()
    await expect.poll(focused).toBe('MAIN')
  })

  test('a thousand domains are a few dozen rows in the page, and the last one is reached by scrolling', async () => {
    const page = await startProject('Crowd')
    await world.tree.command('projects', 'update', '--slug', 'crowd', '--plan', 'unlimited')
    const hostnames = Array.from({ length: 1_000 }, (_, n) => `shop-${String(n).padStart(4, '0')}.crowd-customer.com`)
    await page.request.post(`${world.portalUrl}/v1/portal/projects/crowd/domains/bulk`, { data: { hostnames } })
    await page.goto(`${world.portalUrl}/projects/crowd`)
    await page.getByRole('link', { name: 'crowd-customer.com' }).first().waitFor()
    expect(await page.getByRole('row').count()).toBeLessThan(60)
    await reachByScrolling(page, hostnames[0]!)
  })
})

/** The elements of the page whose content stands out of them, other than what scrolls. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(`
    [...document.querySelectorAll('body, main *, [role="dialog"], [role="dialog"] *')]
      .filter((one) => !one.closest('nav') && one.scrollWidth > one.clientWidth && one.clientWidth > 0 && getComputedStyle(one).overflowX === 'visible')
      .map((one) => one.tagName + ' ' + one.textContent.slice(0, 60))
  `)
}

/** The last one of a list, whose rows are loaded and drawn on the way: the newest come first. */
async function reachByScrolling(page: Page, oldest: string): Promise<void> {
  await expect
    .poll(
      async () => {
        await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
        return page.getByRole('link', { name: oldest }).count()
      },
      { timeout: SEEN_WITHIN_MS },
    )
    .toBe(1)
}

/** Has the page's requests to such an address wait until they are released; `held` is how many came. */
async function holdRequests(page: Page, url: RegExp, method = 'GET') {
  const { promise: released, resolve } = Promise.withResolvers<void>()
  const holding = { held: 0, release: resolve }
  await page.route(url, async (route) => {
    if (route.request().method() !== method) return route.fallback()
    holding.held += 1
    await released
    await route.continue().catch(() => {}) // the page may have given it up meanwhile
  })
  return holding
}

/** Another page of the same browser, signed in alike. */
async function openBeside(page: Page, path: string): Promise<{ page: Page }> {
  const other = await page.context().newPage()
  await other.goto(`${world.portalUrl}${path}`)
  return { page: other }
}
