import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'

/** `port` of loopback (0: any that is free), or a socket that somebody else has bound. `api` is Namesake's base URL, `token` the project's. */
export type VendorAppSettings = { port: number | { fd: number }; api: string; token: string }

/** What the resolve endpoint knows of a hostname; undefined when Namesake does not answer, so that the page never depends on it. */
type Customer = { projectSlug: string; metadata: Record<string, unknown> } | undefined

const RESOLVE_TIMEOUT_MS = 2_000

/** Starts the application on a loopback port (0: any that is free), or on a socket that is bound already. */
export async function startVendorApp(settings: VendorAppSettings): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(settings, request, response).catch(() => response.destroy())
  })
  server.listen(typeof settings.port === 'number' ? { port: settings.port, host: '127.0.0.1' } : settings.port)
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = once(server.close(), 'close')
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(settings: VendorAppSettings, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const hostname = (request.headers.host ?? '').replace(/:\d+$/, '') // the name in the visitor's address bar says which customer this is
  const customer = await resolve(settings, hostname)
  await finished(request.resume()) // whoever is answered before all was read must stop sending it, and some clients call that an error
  const wantsPage = request.headers.accept?.includes('text/html')
  response.setHeader('Content-Type', wantsPage ? 'text/html; charset=utf-8' : 'text/plain; charset=utf-8')
  response.end(wantsPage ? page(hostname, customer) : text(hostname, customer))
}

async function resolve({ api, token }: VendorAppSettings, hostname: string): Promise<Customer> {
  const url = new URL(`/v1/edge/resolve?hostname=${encodeURIComponent(hostname)}`, api)
  const signal = AbortSignal.timeout(RESOLVE_TIMEOUT_MS)
  const known = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal }).catch(() => undefined)
  return known?.ok ? ((await known.json()) as Customer) : undefined
}

function text(hostname: string, customer: Customer): string {
  const lines = [`Hello, ${hostname}!`]
  if (customer) lines.push(`project   ${customer.projectSlug}`, `metadata  ${JSON.stringify(customer.metadata)}`)
  return `${lines.join('\n')}\n`
}

function page(hostname: string, customer: Customer): string {
  const rows = customer
    ? [['project', customer.projectSlug], ...Object.entries(customer.metadata).map(([key, value]) => [key, show(value)])]
    : []
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(hostname)}</title>
<style>
  :root { color-scheme: light dark; font: 18px/1.6 system-ui, sans-serif }
  body { max-width: 36rem; margin: 18vh auto; padding: 0 1.5rem }
  dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1.5rem; margin: 2rem 0 }
  dt { opacity: .65 } dd { margin: 0; overflow-wrap: anywhere }
</style>
<h1>Hello, ${escapeHtml(hostname)}!</h1>
<p>This page comes from the vendor’s application. The certificate and the way here come from Namesake.</p>
<dl>${rows.map(([key, value]) => `<dt>${escapeHtml(key!)}</dt><dd>${escapeHtml(value!)}</dd>`).join('')}</dl>
</html>
`
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

if (import.meta.main) {
  const { PORT = '3000', NAMESAKE_API = 'http://127.0.0.1:4000', NAMESAKE_TOKEN = '' } = process.env
  const { url } = await startVendorApp({ port: Number(PORT), api: NAMESAKE_API, token: NAMESAKE_TOKEN })
  console.log(`The vendor's application answers at ${url}`)
}
