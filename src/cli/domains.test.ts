import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../../test/support/api.ts'
import { EDGE_HOST, freshHostname } from '../../test/support/tenants.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const ESCAPE = '\u001b'

let api: TestApi
let tenant: Tenant
let folder: string
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
  folder = mkdtempSync(join(tmpdir(), 'namesake-domains-'))
})
afterAll(async () => {
  await api.stop()
  rmSync(folder, { recursive: true, force: true })
})

function show(hostname: string, ...more: string[]): Promise<string> {
  return domains('show', hostname, ...more)
}

function domains(command: string, ...more: string[]): Promise<string> {
  return domainsWith({}, command, ...more)
}

function domainsWith(settings: Record<string, string>, command: string, ...more: string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH!,
    NAMESAKE_DATABASE_URL: api.databaseUrl,
    NAMESAKE_SECRET: 'x'.repeat(32),
    NAMESAKE_EDGE_HOST: EDGE_HOST,
    NAMESAKE_DNS_SERVERS: api.dns.endpoint,
    ...settings,
    NAMESAKE_LOG_LEVEL: 'silent',
  }
  const args = ['domains', command, '--project', tenant.project.slug, ...more]
  return new Promise((resolve, reject) =>
    execFile(LAUNCHER, args, { env, cwd: folder }, (error, out, err) => (error ? reject(new Error(err)) : resolve(out))),
  )
}

test('the command that a claim suggests can be copied, also where a shell would read the star of a wildcard', async () => {
  const hostname = freshHostname()
  const suggested = async (name: string) =>
    (await domainsWith({ NAMESAKE_DNS_ZONE: 'acme.example.net' }, 'add', name)).match(
      /^How it stands: .*domains check --project \S+ (.+)$/m,
    )?.[1]
  expect(await suggested(hostname)).toBe(hostname)
  expect(await suggested(`*.${hostname}`)).toBe(`'*.${hostname}'`)
})

test('metadata is listed as it was sent, also with the line separators of Unicode in it', async () => {
  const metadataJson = '{"note":"one\u2028two\u2029three"}'
  await domains('add', freshHostname(), '--metadata', metadataJson)
  expect(await domains('list', '--json')).toContain(`"metadata": ${metadataJson}`)
})

test('what the DNS of a hostname lacks is said in the same sentence by the API and on the command line', async () => {
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  api.dns.set(hostname, 'CNAME', `https://${EDGE_HOST}/`)
  const { dns } = (await tenant.call('POST', `/v1/edge/domains/${hostname}/check`)).json<{ dns: { state: string; sentence: string } }>()
  expect(dns.sentence).toContain('with nothing before or after it')
  expect(await show(hostname)).toContain(`  DNS          ${dns.state}: ${dns.sentence}\n`)
  expect(JSON.parse(await show(hostname, '--json'))).toMatchObject({ dns })
})

test('a hostname in other letters is shown as the DNS writes it and as its owner does; records to copy and JSON have the former alone', async () => {
  const label = freshHostname().split('.')[0]
  const [inDns, spelt] = [`${label}.xn--bcher-kva.test`, `${label}.bücher.test`]
  expect(await domains('add', spelt)).toContain(`${inDns} (${spelt}) is claimed`)
  const shown = await show(inDns)
  expect(shown).toContain(`${inDns} (${spelt})  not verified yet`)
  expect(shown).toContain(`\n    ${inDns}  CNAME  ${EDGE_HOST}\n`)
  expect(await show(inDns, '--json')).not.toContain('bücher')
  expect(await domains('list')).toMatch(new RegExp(`^${inDns} .* ${spelt}$`, 'm'))
  expect(await domains('list', '--json')).not.toContain('bücher')
})

test('an alias at a domain itself has the names that the sentence gives it, and in JSON the one of the API', async () => {
  const hostname = `${freshHostname().split('.')[0]}.test`
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  const shown = await domains('check', hostname)
  expect(shown).toContain('Add an ALIAS or ANAME record named "@"')
  expect(shown).toContain(`\n    ${hostname}  ALIAS or ANAME  ${EDGE_HOST}\n`)
  const expected = [{ name: hostname, type: 'ALIAS', value: EDGE_HOST }]
  expect(JSON.parse(await show(hostname, '--json'))).toMatchObject({ dns: { expected } })
})

test("a terminal does not obey what strangers' records hold", async () => {
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  api.dns.set(hostname, 'TXT', `${EDGE_HOST}${ESCAPE}[2J`)
  await tenant.call('POST', `/v1/edge/domains/${hostname}/check`)
  const shown = await show(hostname)
  expect(shown).toContain(`${hostname}  TXT  ${EDGE_HOST}?[2J`)
  expect(shown).not.toContain(ESCAPE)
})
