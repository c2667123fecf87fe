import { hash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { Html, html } from '../lib/html.ts'

/** What a project's own page is made of. `ownHtml` replaces the whole page, with {{hostname}} and {{requestId}} filled in. */
export type ErrorPageBrand = { name: string; color: string | null; ownHtml: string | null }

export type ErrorPageFacts = {
  status: number
  hostname: string
  requestId: string
  brand: ErrorPageBrand | undefined
  /** Whether the page may offer to load the address again: what was sent to it is not sent twice. */
  canReload: boolean
}

const COLOR = /^#[0-9a-f]{6}$/
const DEFAULT_COLOR = '#0f766e'
const STYLE = `:root{color-scheme:light dark;--ground:#fafaf9;--card:#fff;--text:#1c1917;--soft:#57534e;--line:#e7e5e4;--link:#115e59}
@media(prefers-color-scheme:dark){:root{--ground:#1c1917;--card:#292524;--text:#fafaf9;--soft:#d6d3d1;--line:#44403c;--link:#5eead4}}
*{box-sizing:border-box;margin:0}
body{background:var(--ground);color:var(--text);font:16px/1.6 system-ui,sans-serif;min-height:100vh;min-height:100svh;display:grid;place-items:center;padding:24px}
main{background:var(--card);border:1px solid var(--line);border-radius:12px;max-width:34rem;width:100%;overflow:hidden}
svg{display:block;width:100%;height:6px}
div{padding:28px;display:grid;gap:14px}
h1{font-size:1.4rem;line-height:1.3}
p{overflow-wrap:anywhere}
.name{font-weight:600;color:var(--soft)}
.small{font-size:.875rem;color:var(--soft);border-top:1px solid var(--line);padding-top:14px}
code{font:.8125rem ui-monospace,monospace;user-select:all}
a{color:var(--link);font-weight:600;text-underline-offset:3px}`
const SHUT = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const POLICY = `${SHUT}; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`
/** A vendor's page may style itself and hold pictures; it runs no script and asks nobody for anything, so it is there whatever else is down. */
const OWN_POLICY = `${SHUT}; style-src 'unsafe-inline'; img-src data:; font-src data:`

const PREVIEW_REQUEST_ID = '6f1c9d52-8a47-4f0e-9b1d-0c2e5a7d3b64'

const TITLES: Record<number, string> = { 502: 'This page is not available right now', 503: 'Please try again in a moment' }
const SENTENCES: Record<number, string> = {
  502: 'The application behind this address does not answer at the moment. That is usually over soon: please try again in a little while.',
  503: 'This address cannot be looked up at the moment. Please try again in a few seconds.',
}

/** The page that a person sees in place of an application's, and the Content-Security-Policy that goes with it. Everything in it is escaped. */
export function renderErrorPage(facts: ErrorPageFacts): { html: string; policy: string } {
  const { brand } = facts
  if (typeof brand?.ownHtml === 'string') return { html: fillIn(brand.ownHtml, facts), policy: OWN_POLICY }
  return { html: ownPage(facts), policy: POLICY }
}

/** The page for a failed exchange as a vendor may look at it beforehand. */
export function previewErrorPage(brand: ErrorPageBrand): { html: string; policy: string } {
  return renderErrorPage({ status: 502, hostname: 'shop.customer.com', requestId: PREVIEW_REQUEST_ID, brand, canReload: true })
}

/** Browsers say their first wish first, in some hundred. */
const ACCEPT_CHARACTERS_MAX = 1_024

/** Whether the visitor is a browser that shows a page: its Accept names text/html and does not refuse it (RFC 9110 §12.5.1). */
export function acceptsHtml(accept: string): boolean {
  return accept
    .slice(0, ACCEPT_CHARACTERS_MAX)
    .split(',')
    .some((range) => {
      const [type, ...parameters] = range.split(';')
      return type!.trim().toLowerCase() === 'text/html' && !parameters.some((parameter) => /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(parameter))
    })
}

function fillIn(page: string, { hostname, requestId }: ErrorPageFacts): string {
  const values: Record<string, string> = { hostname, requestId }
  return page.replace(/\{\{\s*(hostname|requestId)\s*\}\}/g, (_place, name: string) => html`${values[name]}`.text)
}

function ownPage({ status, hostname, requestId, brand, canReload }: ErrorPageFacts): string {
  const title = TITLES[status] ?? STATUS_CODES[status] ?? 'Error'
  const color = brand?.color && COLOR.test(brand.color) ? brand.color : DEFAULT_COLOR
  const name = brand && html`<p class="name">${brand.name}</p>`
  const reload = canReload ? html`<p><a href="">Try again</a></p>` : undefined
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>${title}</title><style>${new Html(STYLE)}</style></head>
<body><main><svg aria-hidden="true"><rect width="100%" height="100%" fill="${color}"/></svg><div>
${name}
<h1>${title}</h1>
<p>${SENTENCES[status]}</p>
${reload}
<p class="small">${hostname} · ${status}<br>If you ask for help, please quote<br><code>${requestId}</code></p>
</div></main></body>
</html>
`.text
}
