import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Caddy, startCaddy } from './support/caddy.ts'
import { addVendor, startTree, type Tree, type Vendor } from './support/tree.ts'

const SHOP = 'shop.customer.example'
const LATER = 'later.customer.example'

let tree: Tree
let vendor: Vendor
let caddy: Caddy

beforeAll(async () => {
  tree = await startTree({ args: ['--roles', 'api'] })
  vendor = await addVendor(tree, 'shop', 'http://127.0.0.1:9')
  await vendor.claim(SHOP)
  caddy = await startCaddy(`${tree.internalUrl}/internal/certificate-check`)
})

afterAll(async () => {
  await caddy?.stop()
  await tree?.stop()
})

test('Caddy that asks a running Namesake serves a claimed hostname over HTTPS, at the first visit', async () => {
  expect(await caddy.visit(SHOP)).toBe(`served ${SHOP}`)
})

test('it refuses a hostname that nobody has claimed, and serves it as soon as somebody has', async () => {
  await expect(caddy.visit(LATER)).rejects.toThrow(/alert|ECONNRESET|socket/i)
  await vendor.claim(LATER)
  expect(await caddy.visit(LATER)).toBe(`served ${LATER}`)
})
