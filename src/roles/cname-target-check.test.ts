import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import { parseHostname } from '../hostname.ts'
import { createProbe } from '../probe/probe.ts'
import { checkCnameTarget } from './cname-target-check.ts'

const TARGET = 'customers.customer.test'
const RULES = {
  edgeHost: parseHostname(EDGE_HOST),
  dnsZone: parseHostname('acme.test'),
  reserved: new Set(['api.namesake.test', 'app.namesake.test']),
}

let zone: CustomerZone
beforeEach(async () => {
  zone = await startCustomerZone()
})
afterEach(() => zone.stop())

const check = (target = TARGET) => checkCnameTarget(parseHostname(target), RULES, zone.probe.leadsToEdge)

test('a CNAME target leads to the edge host by its record, by a chain, or by all its addresses', async () => {
  zone.set(TARGET, 'CNAME', EDGE_HOST)
  zone.set('chained.customer.test', 'CNAME', TARGET)
  zone.set('flat.customer.test', 'A', '127.0.0.10')
  for (const target of [TARGET, 'chained.customer.test', 'flat.customer.test']) await check(target)
})

test('one that leads nowhere or elsewhere is refused with the record to add', async () => {
  const needed = `the record ${TARGET} CNAME ${EDGE_HOST} is needed first. Add a CNAME record named "customers"`
  await expect(check()).rejects.toMatchObject({ code: 'cname_target_invalid', message: expect.stringContaining(needed) })
  zone.set(TARGET, 'CNAME', 'old.example')
  await expect(check()).rejects.toMatchObject({ message: expect.stringMatching(/from "old\.example" to "edge\.namesake\.test"\.$/) })
  await expect(check('customer.test')).rejects.toMatchObject({
    message: expect.stringContaining(`customer.test ALIAS or ANAME ${EDGE_HOST}`),
  })
})

test('the service’s own hosts, and names in its own domains, are none', async () => {
  for (const own of [EDGE_HOST, `a.${EDGE_HOST}`, 'app.namesake.test', 'x.acme.test'])
    await expect(check(own), own).rejects.toMatchObject({ code: 'hostname_reserved' })
})

test('where nobody answers for it, that is said, and it is not taken', async () => {
  zone.resolver.behave('*', { drop: true })
  await expect(check()).rejects.toMatchObject({
    code: 'cname_target_invalid',
    message: expect.stringMatching(/^it cannot be found out now where .* nothing was saved/),
  })
})

test('a name under .localhost leads to an edge that is local', async () => {
  const edgeHost = parseHostname('edge.localhost')
  const probe = createProbe({ edgeHost, edgeIps: [], portalHosts: [], servers: ['127.0.0.1:9'], caaIssuers: [] })
  try {
    await checkCnameTarget(parseHostname('customers.localhost'), { edgeHost, reserved: new Set() }, probe.leadsToEdge)
  } finally {
    probe.close()
  }
})
