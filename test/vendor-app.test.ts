import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startVendorApp } from '../examples/vendor-app/vendor-app.ts'
import { startTree, type Tree } from './support/tree.ts'

const HOSTNAME = 'shop.customer.example'

let tree: Tree
let app: Awaited<ReturnType<typeof startVendorApp>>

beforeAll(async () => {
  tree = await startTree({ env: { NAMESAKE_EDGE_WORKERS: '1' } })
  await tree.command('projects', 'create', '--name', 'Shop', '--slug', 'shop', '--upstream', 'http://127.0.0.1:9')
  const { token } = await tree.command<{ token: string }>('tokens', 'issue', '--project', 'shop')
  const claimed = await fetch(`${tree.apiUrl}/v1/edge/domains`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ hostname: HOSTNAME, metadata: { owner: '<b>Ada</b>', seats: 3 } }),
  })
  expect(claimed.status).toBe(200)
  app = await startVendorApp({ port: 0, api: tree.apiUrl, token })
})

afterAll(async () => {
  await app?.stop()
  await tree?.stop()
})

test('the example application greets by the hostname asked for, with what the project stored with it', async () => {
  expect(await ask(HOSTNAME)).toBe(`Hello, ${HOSTNAME}!\nproject   shop\nmetadata  {"owner":"<b>Ada</b>","seats":3}\n`)
})

test('a browser gets a page, and metadata cannot become markup in it', async () => {
  const page = await ask(HOSTNAME, 'text/html')
  expect(page).toContain(`<h1>Hello, ${HOSTNAME}!</h1>`)
  expect(page).toContain('<dt>project</dt><dd>shop</dd>')
  expect(page).toContain('&#60;b&#62;Ada')
  expect(page).not.toContain('<b>')
})

test('a hostname that nobody claimed still gets its page', async () => {
  expect(await ask('other.customer.example')).toBe('Hello, other.customer.example!\n')
})

test('the application answers while Namesake is out of reach', async () => {
  const alone = await startVendorApp({ port: 0, api: 'http://127.0.0.1:9', token: '' })
  try {
    expect(await ask(HOSTNAME, undefined, alone.url)).toBe(`Hello, ${HOSTNAME}!\n`)
  } finally {
    await alone.stop()
  }
})

test('an upload is read to its end before it is answered', async () => {
  const sent = request(app.url, { method: 'POST', headers: { host: HOSTNAME }, agent: false })
  let isAnswered = false
  const answered = once(sent, 'response').then(([answer]) => {
    isAnswered = true
    return answer.resume().statusCode
  })
  sent.write(Buffer.alloc(100_000))
  await pause(500)
  expect(isAnswered).toBe(false)
  sent.end(Buffer.alloc(100_000))
  expect(await answered).toBe(200)
})

async function ask(hostname: string, accept = '*/*', url = app.url): Promise<string> {
  const sent = request(url, { headers: { host: `${hostname}:8443`, accept }, agent: false }).end()
  const [answer] = await once(sent, 'response')
  let body = ''
  for await (const chunk of answer) body += chunk
  return body
}
