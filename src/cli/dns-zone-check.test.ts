import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { startDnsServer } from '../../test/support/dns.ts'
import { freePort } from '../../test/support/ports.ts'
import { readConfig } from '../config.ts'
import { startDnsServer as startOurs } from '../dns/server.ts'
import { checkDnsZone } from './dns-zone-check.ts'

const ZONE = 'acme.example.com'

async function setUp() {
  const resolver = await startDnsServer()
  onTestFinished(() => resolver.stop())
  const env = { NAMESAKE_DNS_ZONE: ZONE, NAMESAKE_DNS_SERVERS: resolver.endpoint, NAMESAKE_EDGE_IPS: '127.0.0.1' }
  return { resolver, config: readConfig(env, tmpdir()).config, port: await freePort() }
}

test('doctor says nothing of a zone where there is none, and what to add at the parent where it is not delegated', async () => {
  const { config } = await setUp()
  expect(await checkDnsZone({ ...config, dnsZone: undefined })).toEqual([])
  expect(await checkDnsZone(config)).toMatchObject([
    {
      state: 'bad',
      sentence: expect.stringContaining(`in the DNS of example.com add "${ZONE} NS ns1.${ZONE}" and "ns1.${ZONE} A 127.0.0.1"`),
    },
  ])
})

test('doctor asks the servers that the zone is delegated to whether they are ours', async () => {
  const { resolver, config, port } = await setUp()
  resolver.set(ZONE, 'NS', `ns1.${ZONE}`)
  resolver.set(`ns1.${ZONE}`, 'A', '127.0.0.1')
  expect(await checkDnsZone(config, port)).toMatchObject([{ state: 'bad', sentence: expect.stringContaining('does not answer') }])

  const udp = createSocket('udp4').bind(port, '127.0.0.1')
  await once(udp, 'listening')
  const zone = { name: ZONE, addresses: ['127.0.0.1'], mayHold: () => true, findTexts: async () => [] }
  const ours = await startOurs({ zone, udp, tcp: { host: '127.0.0.1', port }, count: () => {} })
  onTestFinished(() => ours.stop())
  expect(await checkDnsZone(config, port)).toMatchObject([{ state: 'good' }])
  expect(await checkDnsZone(config, resolver.port)).toMatchObject([{ state: 'bad', sentence: expect.stringContaining('not ours') }])
})
