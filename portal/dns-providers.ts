/** A DNS provider and the words of its own forms. They are quoted from its pages and stay as they are in every language. */
export type DnsProvider = {
  id: string
  name: string
  url: string
  /** Where its records are, as its menu calls it. */
  place: string
  add: string
  save: string
  fields: { type: string; name: string; value: string }
  /** What its form wants as name: the part before the domain, or the whole name. */
  nameStyle: 'label' | 'full'
  /** What the name field holds for the domain itself. */
  apexName: '@' | ''
  /** What its form calls a record of the type ALIAS, where that is known to be another word. */
  aliasType?: string
  /** A peculiarity that spoils the record when it is missed: see `text.providers.notes`. */
  note?: 'proxy-off' | 'no-redirect' | 'final-dot' | 'simple-routing' | 'advanced-dns' | 'alias-apex'
}

const HOST = { type: 'Type', name: 'Host', value: 'Value' }
const NAME = { type: 'Type', name: 'Name', value: 'Value' }

export const DNS_PROVIDERS: readonly DnsProvider[] = [
  {
    id: 'cloudflare',
    name: 'Cloudflare',
    url: 'https://dash.cloudflare.com/',
    place: 'DNS › Records',
    add: 'Add record',
    save: 'Save',
    fields: { type: 'Type', name: 'Name', value: 'Target' },
    nameStyle: 'label',
    apexName: '@',
    aliasType: 'CNAME',
    note: 'proxy-off',
  },
  {
    id: 'godaddy',
    name: 'GoDaddy',
    url: 'https://dcc.godaddy.com/control/portfolio',
    place: 'DNS › DNS Records',
    add: 'Add New Record',
    save: 'Save',
    fields: NAME,
    nameStyle: 'label',
    apexName: '@',
  },
  {
    id: 'namecheap',
    name: 'Namecheap',
    url: 'https://ap.www.namecheap.com/domains/list',
    place: 'Manage › Advanced DNS',
    add: 'Add New Record',
    save: '✓',
    fields: HOST,
    nameStyle: 'label',
    apexName: '@',
    note: 'no-redirect',
  },
  {
    id: 'route53',
    name: 'Amazon Route 53',
    url: 'https://console.aws.amazon.com/route53/v2/hostedzones',
    place: 'Hosted zones',
    add: 'Create record',
    save: 'Create records',
    fields: { type: 'Record type', name: 'Record name', value: 'Value' },
    nameStyle: 'label',
    apexName: '',
    note: 'simple-routing',
  },
  {
    id: 'squarespace',
    name: 'Squarespace Domains (formerly Google Domains)',
    url: 'https://account.squarespace.com/domains',
    place: 'DNS › DNS Settings › Custom records',
    add: 'Add record',
    save: 'Save',
    fields: { type: 'Type', name: 'Host', value: 'Data' },
    nameStyle: 'label',
    apexName: '@',
  },
  {
    id: 'ionos',
    name: 'IONOS',
    url: 'https://my.ionos.com/domains',
    place: 'Domains & SSL › DNS',
    add: 'Add record',
    save: 'Save',
    fields: { type: 'Type', name: 'Host name', value: 'Points to' },
    nameStyle: 'label',
    apexName: '@',
  },
  {
    id: 'hostinger',
    name: 'Hostinger',
    url: 'https://hpanel.hostinger.com/domains',
    place: 'DNS / Nameservers › DNS records',
    add: 'Add Record',
    save: 'Add Record',
    fields: { type: 'Type', name: 'Name', value: 'Target' },
    nameStyle: 'label',
    apexName: '@',
  },
  {
    id: 'ovh',
    name: 'OVHcloud',
    url: 'https://www.ovh.com/manager/#/web/domain',
    place: 'DNS zone',
    add: 'Add an entry',
    save: 'Confirm',
    fields: { type: 'Field type', name: 'Sub-domain', value: 'Target' },
    nameStyle: 'label',
    apexName: '',
    note: 'final-dot',
  },
  {
    id: 'google-cloud',
    name: 'Google Cloud DNS',
    url: 'https://console.cloud.google.com/net-services/dns/zones',
    place: 'Cloud DNS › Zones',
    add: 'Add standard',
    save: 'Create',
    fields: { type: 'Resource record type', name: 'DNS name', value: 'Canonical name' },
    nameStyle: 'label',
    apexName: '',
    note: 'final-dot',
  },
  {
    id: 'azure',
    name: 'Azure DNS',
    url: 'https://portal.azure.com/#browse/Microsoft.Network%2FdnsZones',
    place: 'DNS Management › Recordsets',
    add: 'Add',
    save: 'Add',
    fields: { type: 'Type', name: 'Name', value: 'Alias' },
    nameStyle: 'label',
    apexName: '@',
  },
  {
    id: 'digitalocean',
    name: 'DigitalOcean',
    url: 'https://cloud.digitalocean.com/networking/domains',
    place: 'Networking › Domains',
    add: 'Create new record',
    save: 'Create Record',
    fields: { type: 'Type', name: 'Hostname', value: 'Is an alias of' },
    nameStyle: 'label',
    apexName: '@',
  },
  {
    id: 'hetzner',
    name: 'Hetzner',
    url: 'https://console.hetzner.com/',
    place: 'DNS › Records',
    add: 'Add record',
    save: 'Add record',
    fields: NAME,
    nameStyle: 'label',
    apexName: '@',
    note: 'final-dot',
  },
  {
    id: 'gandi',
    name: 'Gandi',
    url: 'https://admin.gandi.net/domain',
    place: 'DNS Records',
    add: 'Add record',
    save: 'Create',
    fields: { type: 'Type', name: 'Name', value: 'Hostname' },
    nameStyle: 'label',
    apexName: '@',
    note: 'final-dot',
  },
  {
    id: 'vercel',
    name: 'Vercel',
    url: 'https://vercel.com/dashboard/domains',
    place: 'Domains › DNS Records',
    add: 'Add',
    save: 'Add',
    fields: NAME,
    nameStyle: 'label',
    apexName: '',
  },
  {
    id: 'wix',
    name: 'Wix',
    url: 'https://manage.wix.com/account/domains',
    place: 'Domain Actions › Manage DNS Records',
    add: 'Add Record',
    save: 'Save',
    fields: { type: 'Section', name: 'Host Name', value: 'Value' },
    nameStyle: 'label',
    apexName: '',
  },
  {
    id: 'porkbun',
    name: 'Porkbun',
    url: 'https://porkbun.com/account/domainsSpeedy',
    place: 'Domain Management › DNS',
    add: 'Add',
    save: 'Add',
    fields: { type: 'Type', name: 'Host', value: 'Answer / Value' },
    nameStyle: 'label',
    apexName: '',
    note: 'alias-apex',
  },
  {
    id: 'strato',
    name: 'STRATO',
    url: 'https://www.strato.de/apps/CustomerService',
    place: 'Domains › DNS',
    add: 'CNAME-Record verwalten',
    save: 'Einstellung übernehmen',
    fields: { type: 'Type', name: 'Prefix', value: 'CNAME' },
    nameStyle: 'label',
    apexName: '',
  },
]

export function findProvider(id: string | undefined | null): DnsProvider | undefined {
  return DNS_PROVIDERS.find((provider) => provider.id === id)
}
