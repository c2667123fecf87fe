import { expect, test } from 'vitest'
import { readUpstream } from './upstream.ts'
import { createUpstreamGuard } from './upstream-guard.ts'

const OF_MACHINE = ['8.8.4.4', '2a00:1450::5']

const guarding = (allowPrivate: boolean, machineAddresses: () => string[] = () => OF_MACHINE) =>
  createUpstreamGuard({ allowPrivate, ownAddresses: [], ownPorts: [443], machineAddresses, isServedHere: () => false })
const upstream = (host: string) => readUpstream(`http://${host}:9100`, 'http1', 'one')

test.each(['8.8.4.4', '[::ffff:8.8.4.4]', '[2a00:1450::5]', '[2a00:1450:0:0::5]'])(
  'the machine’s own address %s leads nobody to what listens there, past every firewall',
  async (host) => {
    await expect(guarding(false).addressesOf(upstream(host))).rejects.toMatchObject({ reason: 'forbidden-address' })
    expect(await guarding(true).addressesOf(upstream(host))).toHaveLength(1)
  },
)

test('other public addresses are nobody’s but their owners’', async () => {
  expect(await guarding(false).addressesOf(upstream('8.8.8.8'))).toEqual(['8.8.8.8'])
})

test('the system itself is asked where nothing else is said', async () => {
  const guard = createUpstreamGuard({ allowPrivate: false, ownAddresses: [], ownPorts: [], isServedHere: () => false })
  expect(await guard.addressesOf(upstream('8.8.4.4'))).toEqual(['8.8.4.4'])
})

test.each([
  ['8.8.4.4', '8.8.4.4 leads to the edge itself: give the address of your application'],
  ['10.0.0.1', '10.0.0.1 is no public address, and an upstream needs one'],
  ['localhost', 'localhost leads to no public address, and an upstream needs one'],
])('%s is refused with what is wrong with it', async (host, message) => {
  await expect(guarding(false).addressesOf(upstream(host))).rejects.toMatchObject({ message })
})

test('where private addresses are allowed, the edge’s own port is not said to need a public one', async () => {
  const own = { ownAddresses: ['127.0.0.1'], ownPorts: [9100] }
  const guard = createUpstreamGuard({ allowPrivate: true, ...own, isServedHere: () => false })
  await expect(guard.addressesOf(upstream('127.0.0.1'))).rejects.toThrow('127.0.0.1 leads to the edge itself')
})
