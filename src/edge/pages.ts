import { STATUS_CODES } from 'node:http'
import type { AnswerHead, Exchange } from './engine.ts'
import { FieldSection } from './field-section.ts'
import type { RequestId } from './request-ids.ts'

/** RFC 9110 §15.5.6: what is asked for mostly. Any other method passes too, but for TRACE and CONNECT. */
const ALLOWED = ['Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']

const PLAIN_TEXT = ['text/plain; charset=utf-8']

const SENTENCES: Record<number, string> = {
  400: 'This request cannot be understood.',
  404: 'Nothing is served at this address.',
  405: 'This method is not served here.',
  408: 'The request did not arrive in time.',
  414: 'The target of this request is too long.',
  417: 'This expectation cannot be met.',
  421: 'This connection was made for another hostname. Please try again.',
  431: 'The head of this request is too large.',
  501: 'This transfer coding is not supported.',
  502: 'The application behind this hostname does not answer properly at the moment. Please try again in a little while.',
  503: 'This hostname cannot be looked up at the moment. Please try again in a few seconds.',
  505: 'This version of HTTP is not supported.',
  508: 'This request has come round in a circle: the application behind this hostname leads back here.',
}

export type Page = { head: AnswerHead; body: Buffer }

/** A plain answer of the edge's own, never to be kept by a cache. `error` is the stable word for the reason, shown in `Namesake-Error`. */
export function page(status: number, error?: string, fields: string[] = [], requestId?: RequestId): Page {
  const named = requestId === undefined ? '' : `Request id: ${requestId}\n`
  const more = [...fields]
  if (status === 405) more.push(...ALLOWED)
  if (error) more.push('Namesake-Error', error)
  return pageOf(status, `${status} ${reasonOf(status)}\n${SENTENCES[status] ?? ''}\n${named}`, PLAIN_TEXT, more)
}

/** As `page`, for a person in front of a browser. */
export function htmlPage(status: number, { html, policy }: { html: string; policy: string }, error: string, fields: string[] = []): Page {
  const type = ['text/html; charset=utf-8', 'Content-Security-Policy', policy, 'X-Content-Type-Options', 'nosniff']
  return pageOf(status, html, type, [...fields, 'Namesake-Error', error])
}

/** What the edge host says at its root whatever else is out of order. */
export function livenessPage(): Page {
  return pageOf(200, 'Namesake edge is alive.\n', PLAIN_TEXT)
}

/** `type`: the value of Content-Type, and fields that belong to it. */
export function pageOf(status: number, text: string, type: readonly string[], more: readonly string[] = []): Page {
  const body = Buffer.from(text)
  const fields = ['Date', new Date().toUTCString(), 'Content-Type', ...type, 'Cache-Control', 'no-store', ...more]
  return { head: { status, reason: reasonOf(status), fields: FieldSection.ofList(fields), body: body.length }, body }
}

function reasonOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error'
}

/** Answers with the page; a HEAD request gets its head alone. */
export function sendPage(exchange: Pick<Exchange, 'method' | 'answer' | 'write' | 'end'>, { head, body }: Page): void {
  if (exchange.method === 'HEAD') {
    const fields = FieldSection.ofList([...head.fields.list, 'Content-Length', String(body.length)])
    exchange.answer({ ...head, fields, body: 'none' })
  } else {
    exchange.answer(head)
    exchange.write(body)
  }
  exchange.end()
}
