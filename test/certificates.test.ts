import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyOf, makeLink } from './support/chains.ts'
import { addVendor, eventually, localRoot, startTree, type Tree } from './support/tree.ts'
import { handshake } from './support/visitor.ts'

const HOSTNAME = 'shop.localhost'

let tree: Tree
let folder: string
beforeAll(async () => {
  tree = await startTree()
  folder = mkdtempSync(join(tmpdir(), 'namesake-brought-'))
  await (await addVendor(tree, 'shop', 'http://127.0.0.1:9')).claim(HOSTNAME)
})
afterAll(async () => {
  await tree.stop()
  rmSync(folder, { recursive: true, force: true })
  rmSync(tree.dataDir, { recursive: true, force: true })
})

/** The serial of the certificate that a visitor is shown who trusts this root. */
async function servedSerial(root = localRoot(tree)): Promise<string> {
  const socket = await handshake({ port: tree.httpsPort, hostname: HOSTNAME, ca: root })
  const serial = socket.getPeerX509Certificate()!.serialNumber.toLowerCase()
  socket.destroy()
  return serial
}

test('a renewal on demand is served in the place of a fresh certificate', async () => {
  await eventually(async () => (await servedSerial()) !== '', 60_000)
  const first = await servedSerial()
  expect(await tree.command('certificates', 'renew', HOSTNAME)).toMatchObject({ outcome: 'requested', validUntil: expect.any(String) })
  await eventually(async () => (await servedSerial()) !== first, 60_000)
  const { serial, history } = await tree.command<{ serial: string; history: object[] }>('certificates', 'show', HOSTNAME)
  expect(serial).toBe(await servedSerial())
  expect(history).toMatchObject([
    { outcome: 'issued', renewing: true, serial },
    { outcome: 'issued', renewing: false, serial: first },
  ])
})

test('an imported certificate is what visitors are shown, with the chain that was brought', async () => {
  const root = await makeLink('Company Root', undefined, { ca: true })
  const intermediate = await makeLink('Company CA', root, { ca: true })
  const leaf = await makeLink('leaf', intermediate, { names: [HOSTNAME] })
  const [chain, key] = [join(folder, 'chain.pem'), join(folder, 'key.pem')]
  writeFileSync(chain, leaf.pem + intermediate.pem)
  writeFileSync(key, keyOf(leaf).export({ type: 'pkcs8', format: 'pem' }))
  const brought = await tree.command<{ serial: string }>('certificates', 'import', '--hostname', HOSTNAME, '--chain', chain, '--key', key)
  await eventually(async () => (await servedSerial(root.pem)) === brought.serial, 60_000)
})
