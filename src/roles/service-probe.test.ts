import { expect, test } from 'vitest'
import { startCustomerZone } from '../../test/support/customer-zone.ts'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, freshHostname, PROJECT_RULES } from '../../test/support/tenants.ts'
import { updateProject } from '../core/projects.ts'
import { withCnameTargets } from './service-probe.ts'

test('a hostname leads to the edge for its certificate by the flattened CNAME target of its own project, and by no other’s', async () => {
  const { db, drop } = await createTestDatabase()
  const zone = await startCustomerZone()
  try {
    const project = await addProject(db)
    const [own, others, nobodys] = [await claim(db, project), await claim(db, await addProject(db)), freshHostname()]
    await updateProject(db, project.slug, { cnameTarget: 'customers.vendor.test' }, PROJECT_RULES)
    zone.set('customers.vendor.test', 'A', '127.0.0.10')
    for (const hostname of [own, others, nobodys]) zone.set(hostname, 'CNAME', 'customers.vendor.test')
    const { leadsToEdge } = withCnameTargets(zone.probe, db)
    expect(await leadsToEdge(own)).toEqual({ kind: 'yes', addresses: ['127.0.0.10'] })
    for (const hostname of [others, nobodys]) expect(await leadsToEdge(hostname)).toMatchObject({ kind: 'no' })
  } finally {
    await zone.stop()
    await drop()
  }
})
