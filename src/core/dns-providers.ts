/** Who runs the DNS of a zone. The ids are those by which the portal keeps each provider's own words. */
export type DnsProvider = { id: string; name: string }

const PROVIDERS: readonly (DnsProvider & { nameServers: RegExp })[] = [
  { id: 'cloudflare', name: 'Cloudflare', nameServers: /\.ns\.cloudflare\.com$/ },
  { id: 'godaddy', name: 'GoDaddy', nameServers: /\.domaincontrol\.com$/ },
  { id: 'namecheap', name: 'Namecheap', nameServers: /\.(registrar-servers|namecheaphosting)\.com$/ },
  { id: 'route53', name: 'Amazon Route 53', nameServers: /\.awsdns-\d+\.(com|net|org|co\.uk)$/ },
  { id: 'squarespace', name: 'Squarespace Domains', nameServers: /\.squarespacedns\.com$/ },
  { id: 'ionos', name: 'IONOS', nameServers: /\.ui-dns\.(com|org|de|biz)$/ },
  { id: 'hostinger', name: 'Hostinger', nameServers: /\.(dns-parking|hostinger)\.com$/ },
  { id: 'ovh', name: 'OVHcloud', nameServers: /\.(ovh\.(net|ca)|anycast\.me)$/ },
  { id: 'azure', name: 'Azure DNS', nameServers: /\.azure-dns\.(com|net|org|info)$/ },
  { id: 'digitalocean', name: 'DigitalOcean', nameServers: /\.digitalocean\.com$/ },
  { id: 'hetzner', name: 'Hetzner', nameServers: /\.(ns\.hetzner\.(com|de)|first-ns\.de|second-ns\.(de|com))$/ },
  { id: 'gandi', name: 'Gandi', nameServers: /\.gandi\.net$/ },
  { id: 'vercel', name: 'Vercel', nameServers: /\.vercel-dns\.com$/ },
  { id: 'wix', name: 'Wix', nameServers: /\.wixdns\.net$/ },
  { id: 'porkbun', name: 'Porkbun', nameServers: /\.ns\.porkbun\.com$/ },
  { id: 'strato', name: 'STRATO', nameServers: /\.rzone\.de$/ },
]
// googledomains.com is not among them: Google Cloud DNS and the domains that went from Google to Squarespace share it.

/** The provider that all of the name servers (lower case) belong to; null when it is none that we know, or more than one. */
export function recogniseProvider(nameServers: readonly string[]): DnsProvider | null {
  const [first] = nameServers
  const found = first === undefined ? undefined : PROVIDERS.find((provider) => provider.nameServers.test(`.${first}`))
  if (!found?.nameServers || !nameServers.every((name) => found.nameServers.test(`.${name}`))) return null
  return { id: found.id, name: found.name }
}
