/** What a session must be able to do, as libpq's `target_session_attrs` says it. */
export type SessionNeed = 'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby'

/** One server of an address: a name, an IP address or a Unix socket's folder. `url` leads to it alone. */
export type PostgresHost = { host: string; port: number; url: string }

/** An address of one database on one or several servers. `need` is undefined where the address does not say. */
export type PostgresAddress = { hosts: PostgresHost[]; need: SessionNeed | undefined; shuffled: boolean }

const PORT = 5432
const NEEDS: readonly string[] = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] satisfies SessionNeed[]

/**
 * Reads `postgres://user:pw@db1:5432,db2:5432/name?target_session_attrs=read-write&load_balance_hosts=random` with libpq's meaning: each host has
 * its own port, 5432 where it has none; `?host=a,b&port=1,2` names them as well, one port for all or one each. Throws a plain Error whose message
 * completes "the address …".
 */
export function readPostgresUrl(text: string): PostgresAddress {
  const parts = /^(postgres(?:ql)?:\/\/)([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(text)
  if (!parts) throw new Error('is not a PostgreSQL address')
  const [, scheme, authority = '', path = '/', queryText = ''] = parts
  const credentialsEnd = authority.lastIndexOf('@') + 1
  const query = new URLSearchParams(queryText)
  const need = takeChoice(query, 'target_session_attrs', NEEDS) as SessionNeed | undefined
  const shuffled = takeChoice(query, 'load_balance_hosts', ['disable', 'random']) === 'random'
  const named = hostsOf(query, authority.slice(credentialsEnd))
  query.delete('host')
  query.delete('port')
  const hosts = named.map(({ host, port }) => {
    const isFolder = host.startsWith('/')
    const place = isFolder ? 'localhost' : host.includes(':') ? `[${host}]` : host
    const rest = new URLSearchParams(query)
    if (isFolder) rest.set('host', host)
    const url = `${scheme}${authority.slice(0, credentialsEnd)}${place}:${port}${path}${rest.size > 0 ? `?${rest}` : ''}`
    if (!URL.canParse(url)) throw new Error(`names the host "${host}", which is none`)
    return { host, port, url }
  })
  return { hosts, need, shuffled }
}

function hostsOf(query: URLSearchParams, authority: string): { host: string; port: number }[] {
  const fromQuery = query.get('host')
  if (fromQuery === null) return authority.split(',').map((entry) => readHost(entry, query.get('port') ?? undefined))
  const hosts = fromQuery.split(',')
  const ports = (query.get('port') ?? (/:(\d+)$/.exec(authority)?.[1] || String(PORT))).split(',')
  if (ports.length !== 1 && ports.length !== hosts.length) throw new Error(`names ${hosts.length} hosts and ${ports.length} ports`)
  return hosts.map((host, i) => ({ host: host || 'localhost', port: readPort(ports[ports.length === 1 ? 0 : i]!) }))
}

function readHost(entry: string, fallbackPort = String(PORT)): { host: string; port: number } {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::(\d*))?$/.exec(entry)
  if (!parts) throw new Error('has a host that is not name, name:port or [IPv6]:port')
  return { host: parts[1] ?? (decodeURIComponent(parts[2]!) || 'localhost'), port: readPort(parts[3] || fallbackPort) }
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new Error(`has the port "${text}": a port is a whole number from 1 to 65535`)
  return port
}

function takeChoice(query: URLSearchParams, name: string, choices: readonly string[]): string | undefined {
  const value = query.get(name)
  if (value === null) return undefined
  if (!choices.includes(value)) throw new Error(`has ${name}=${value}, which is none of ${choices.join(', ')}`)
  query.delete(name)
  return value
}
