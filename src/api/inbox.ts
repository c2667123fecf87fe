import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Db } from '../core/db.ts'
import { listKeptMails } from '../core/kept-mails.ts'
import { ServiceError } from '../errors.ts'
import { Html, html } from '../lib/html.ts'

const STYLE = `
:root { color-scheme: light dark; --line: #8886 }
body { margin: 0 auto; max-width: 42rem; padding: 2rem 1rem 4rem; font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem } article { border-top: 1px solid var(--line); padding: 1rem 0 } h2 { font-size: 1.05rem; margin: 0 }
p { margin: .25rem 0 } pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit }
`
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}
const LINK = /(https?:\/\/[^\s<>"]+)/

/** `GET /inbox`: the mail of a local installation that has no mail server. Whoever reads it can sign in as anybody, so it is for this machine's own names. */
export function inbox(app: FastifyInstance, parts: { db: Db; hostnames: ReadonlySet<string> }): void {
  app.get('/inbox', { schema: { hide: true } }, async (request, reply) => {
    // A stranger's name that was made to lead here (DNS rebinding) would let its page read along. That page may set X-Forwarded-Host, but not Host.
    if (!parts.hostnames.has(sentHostname(request))) throw new ServiceError('route_not_found', 'there is nothing at GET /inbox')
    const mails = await listKeptMails(parts.db)
    return reply.headers(HEADERS).send(
      html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Inbox</title><style>${new Html(STYLE)}</style></head>
<body>
<h1>Inbox</h1>
<p>This installation has no mail server, so the mail that it would send is kept here. Set <code>NAMESAKE_SMTP_URL</code> and <code>NAMESAKE_MAIL_FROM</code> to send it.</p>
${mails.length === 0 ? html`<p>No mail yet. Reload this page after you asked for a link.</p>` : undefined}
${mails.map((mail) => html`<article><h2>${mail.subject}</h2><p>To ${mail.to}, ${mail.at.slice(0, 19).replace('T', ' ')} UTC</p><pre>${linked(mail.text)}</pre></article>`)}
</body>
</html>
`.text,
    )
  })
}

function sentHostname({ raw }: FastifyRequest): string {
  return URL.parse(`http://${raw.headers.host}`)?.hostname ?? ''
}

function linked(text: string): Html[] {
  return text.split(LINK).map((piece, i) => (i % 2 === 1 ? html`<a href="${piece}">${piece}</a>` : html`${piece}`))
}
