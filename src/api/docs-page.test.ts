import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, startTestApi, type TestApi } from '../../test/support/api.ts'
import { ERROR_CODES } from '../errors.ts'
import { html } from '../lib/html.ts'

let api: TestApi
let page: Answer
beforeAll(async () => {
  api = await startTestApi()
  page = await api.call('GET', '/v1/docs')
})
afterAll(() => api.stop())

test('the reference shows every operation and explains every error code where its problem documents point', () => {
  for (const operations of Object.values(api.document.paths)) {
    for (const operation of Object.values(operations))
      expect(page.text).toContain(`id="${(operation as unknown as { operationId: string }).operationId}"`)
  }
  for (const code of ERROR_CODES) expect(page.text).toContain(`<dt id="${code}">`)
})

test('it needs no script and no second request', () => {
  expect(page.text).not.toMatch(/<script|<link|<img|@import|url\(|\bon\w+=/)
})

test('its policy allows its own style and nothing else', () => {
  const style = /<style>([\s\S]*?)<\/style>/.exec(page.text)![1]!
  const policy = String(page.headers['content-security-policy'])
  expect(policy).toContain(`style-src 'sha256-${hash('sha256', style, 'base64')}'`)
  expect(policy).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/)
  expect(page.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
})

test('text in a page cannot become markup', () => {
  expect(html`<p title="${'"><script>'}">${'<b>&'}${html`<i>${'x'}</i>`}${[html`${'<'}`]}</p>`.text).toBe(
    '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;<i>x</i>&lt;</p>',
  )
})
