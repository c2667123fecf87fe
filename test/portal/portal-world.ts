import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { type DnsServer, startDnsServer } from '../support/dns.ts'
import { startMailServer, type TestMail, textOf } from '../support/mail.ts'
import { startTree, type Tree } from '../support/tree.ts'
import { collectErrors, startChromium } from './chromium.ts'

export const EDGE_HOST = 'edge.namesake.example'
/** For what a page shows; half a minute, which is the default, is what a busy machine may take. */
const PATIENCE_MS = 90_000

/** The whole service with a DNS server, a mail server, an application behind it, and a browser before it. */
export type PortalWorld = {
  tree: Tree
  dns: DnsServer
  mail: TestMail
  browser: Browser
  upstreamUrl: string
  portalUrl: string
  /** A page of a browser of its own (own cookies), and what goes wrong in it unseen. */
  open(path: string, options?: BrowserContextOptions): Promise<{ page: Page; errors: string[] }>
  /** Signs in through the form and the real mail. */
  signIn(page: Page, email: string): Promise<void>
  /** Asks for a link in the form; resolves with the address in the mail. */
  askForLink(page: Page, email: string): Promise<string>
  /** Closes all pages but the given one: each that stays open goes on hearing of news, in a process of its own. */
  closePages(kept?: Page): Promise<void>
  stop(): Promise<void>
}

/** The hostname is a right alias for A records, and has an AAAA record of its own: as of a provider that flattens the CNAME for A alone. */
export function sendIpv6Elsewhere(dns: DnsServer, hostname: string): void {
  dns.onQuery = ({ questions }) => {
    const [asked] = questions!
    if (asked!.name.toLowerCase() !== hostname) return
    const isAaaa = asked!.type === 'AAAA'
    dns.unset(hostname, isAaaa ? 'CNAME' : 'AAAA')
    if (isAaaa) dns.set(hostname, 'AAAA', '2001:db8::bad')
    else dns.set(hostname, 'CNAME', EDGE_HOST)
  }
}

export async function startPortalWorld(env: Record<string, string> = {}): Promise<PortalWorld> {
  const dns = await startDnsServer()
  dns.set(EDGE_HOST, 'A', '127.0.0.1')
  const mail = await startMailServer()
  const upstream = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const tree = await startTree({
    env: {
      NAMESAKE_EDGE_WORKERS: '1',
      NAMESAKE_EDGE_HOST: EDGE_HOST,
      NAMESAKE_EDGE_IPS: '127.0.0.1',
      NAMESAKE_ACME_DIRECTORY: 'local',
      NAMESAKE_DNS_SERVERS: dns.endpoint,
      NAMESAKE_ALLOW_PRIVATE_UPSTREAMS: 'true',
      NAMESAKE_SMTP_URL: mail.smtpUrl,
      NAMESAKE_MAIL_FROM: 'Namesake <namesake@vendor.test>',
      ...env,
    },
  })
  const portalUrl = tree.env.NAMESAKE_PORTAL_URL!
  const browser = await startChromium()
  let opened = 0
  const askForLink = async (page: Page, email: string) => {
    await page.goto(`${portalUrl}/sign-in`)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Send me a link' }).click()
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
    return /https?:\/\/\S+\/sign-in\/confirm#token=\S+/.exec(textOf(await mail.next(email)))![0]
  }
  return {
    tree,
    dns,
    mail,
    browser,
    portalUrl,
    upstreamUrl: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    async open(path, options) {
      // An address of its own, as people have, so that one's attempts do not count against another's.
      opened += 1
      const address = `127.1.0.${opened}`
      const context = await browser.newContext({ extraHTTPHeaders: { 'x-forwarded-for': address }, ...options })
      context.setDefaultTimeout(PATIENCE_MS)
      const page = await context.newPage()
      const errors = collectErrors(page)
      await page.goto(`${portalUrl}${path}`)
      return { page, errors }
    },
    askForLink,
    async signIn(page, email) {
      await page.goto(await askForLink(page, email))
      await page.waitForURL(/\/projects/)
    },
    async closePages(kept) {
      for (const context of browser.contexts()) {
        if (context === kept?.context()) continue
        await Promise.all(context.pages().map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })))
        await context.close()
      }
    },
    async stop() {
      await browser.close()
      await tree.stop()
      upstream.close()
      await mail.stop()
      await dns.stop()
    },
  }
}
