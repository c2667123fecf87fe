import { expect, onTestFinished, test } from 'vitest'
import { startDnsServer } from '../../test/support/dns.ts'
import { createZoneReader } from '../probe/zone-reader.ts'
import { textsAt } from './delegated-challenges.ts'

const ZONE = 'acme.vendor.test'

test.for<[string, { role?: 'resolver'; rcode?: number; zones?: string[]; drop?: true }, string[] | undefined]>([
  ['has the text', {}, ['text']],
  ['knows that the name does not exist', { rcode: 3 }, []],
  ['fails', { rcode: 2 }, undefined],
  ['refuses', { rcode: 5 }, undefined],
  ['has another zone', { zones: ['other.test'] }, undefined],
  ['passes on what it remembers', { role: 'resolver' }, undefined],
  ['is silent', { drop: true }, undefined],
])('of a name server of ours that %s', async ([, { role = 'authority' as const, zones = [ZONE], ...behaviour }, texts]) => {
  const server = await startDnsServer({ role, zones })
  const reader = createZoneReader(ZONE, [server.endpoint])
  onTestFinished(async () => {
    reader.close()
    await server.stop()
  })
  server.set(`label.${ZONE}`, 'TXT', 'text')
  server.behave('*', behaviour)
  expect(await textsAt(reader, server, `label.${ZONE}`)).toEqual(texts)
})
