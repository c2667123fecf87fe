import { expect, test } from 'vitest'
import { DNS_PROVIDERS } from '../../portal/dns-providers.ts'
import { recogniseProvider } from './dns-providers.ts'

test.each([
  ['ada.ns.cloudflare.com', 'cloudflare'],
  ['ns41.domaincontrol.com', 'godaddy'],
  ['dns1.registrar-servers.com', 'namecheap'],
  ['ns-2048.awsdns-64.com', 'route53'],
  ['ns-1000.awsdns-00.co.uk', 'route53'],
  ['ns01.squarespacedns.com', 'squarespace'],
  ['ns1045.ui-dns.org', 'ionos'],
  ['ns1.dns-parking.com', 'hostinger'],
  ['dns104.ovh.net', 'ovh'],
  ['ns1-07.azure-dns.com', 'azure'],
  ['ns1.digitalocean.com', 'digitalocean'],
  ['hydrogen.ns.hetzner.com', 'hetzner'],
  ['ns-12-a.gandi.net', 'gandi'],
  ['ns1.vercel-dns.com', 'vercel'],
  ['ns14.wixdns.net', 'wix'],
  ['curitiba.ns.porkbun.com', 'porkbun'],
  ['shades12.rzone.de', 'strato'],
])('%s is a name server of %s, whose forms the portal knows', (nameServer, id) => {
  const provider = recogniseProvider([nameServer])
  expect(provider?.id).toBe(id)
  expect(DNS_PROVIDERS.find((known) => known.id === id)?.name).toContain(provider!.name)
})

test.each([
  ['none', []],
  ['an unknown one', ['ns1.customer.com']],
  ['two providers', ['ada.ns.cloudflare.com', 'ns41.domaincontrol.com']],
  ['one known and one not', ['ada.ns.cloudflare.com', 'ns1.customer.com']],
  ['a name that only ends alike', ['notgandi.net']],
  ['what two providers share', ['ns-cloud-a1.googledomains.com']],
])('%s: no provider is named', (_what, nameServers) => {
  expect(recogniseProvider(nameServers)).toBeNull()
})
