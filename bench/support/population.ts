import pg from 'pg'
import type { Hostname } from '../../src/hostname.ts'
import { createSealer } from '../../src/lib/seal.ts'
import { createPress, type Press } from './many-certificates.ts'
import { certificatesAmong, certifiedAt, DIGITS, hostnameAt, STRIDE } from './population-names.ts'

/** Claimed hostnames in a database, each tenth of them with a certificate of its own. */
export type Population = {
  press: Press
  /** Claims more of them, verified, until there are so many. Past the feed: a local copy sees them that takes its snapshot afterwards. */
  growTo(hostnames: number): Promise<void>
}

const CERTIFICATES_PER_INSERT = 2_000
const SEALED_FOR_DAYS = { life: 80, renewal: 60 }
const DAY_MS = 86_400_000

/** `databaseUrl`: a superuser's, of a database with our schema and the project `bench`. */
export async function createPopulation(databaseUrl: string, secret: string): Promise<Population> {
  const press = await createPress(hostnameAt(0))
  const sealer = createSealer([secret], 'certificate-keys')
  const key = Buffer.from(press.keyPem)
  let size = 0
  return {
    press,
    async growTo(hostnames) {
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      try {
        await client.query('set session_replication_role = replica') // the trigger on claims would take a lock a hostname
        await claim(client, size, hostnames)
        for (let n = certificatesAmong(size); n < certificatesAmong(hostnames); n += CERTIFICATES_PER_INSERT) {
          const length = Math.min(CERTIFICATES_PER_INSERT, certificatesAmong(hostnames) - n)
          const names = Array.from({ length }, (_, i) => certifiedAt(n + i))
          const keys = names.map((hostname) => sealer.seal(key, hostname))
          await certify(client, names, names.map(press.print), keys)
        }
        size = hostnames
        await client.query('analyze')
      } finally {
        await client.end()
      }
    },
  }
}

async function claim(client: pg.Client, from: number, to: number): Promise<void> {
  await client.query(
    `with claimed as (
       insert into domains (project_id, hostname, metadata, verified_at)
       select (select id from projects where slug = 'bench'), 'www.c' || lpad((n * ${STRIDE} % ${10 ** DIGITS})::text, ${DIGITS}, '0') || '.example',
         '{"customer":' || n || ',"plan":"gold"}', now()
       from generate_series($1::bigint, $2::bigint - 1) n returning id)
     insert into probes (domain_id, next_probe_at, state) select id, null, 'verified' from claimed`,
    [from, to],
  )
}

async function certify(client: pg.Client, hostnames: Hostname[], chains: string[], keys: Buffer[]): Promise<void> {
  const inDays = (days: number) => new Date(Date.now() + days * DAY_MS)
  await client.query(
    `insert into certificates (hostname, project_id, state, chain_pem, sealed_key, issuer, serial, not_before, not_after, renew_at, next_attempt_at)
     select hostname, (select id from projects where slug = 'bench'), 'issued', chain_pem, sealed_key, 'CN=Bench', '01', now(), $4, $5, $5
     from unnest($1::text[], $2::text[], $3::bytea[]) as t (hostname, chain_pem, sealed_key)`,
    [hostnames, chains, keys, inDays(SEALED_FOR_DAYS.life), inDays(SEALED_FOR_DAYS.renewal)],
  )
}
