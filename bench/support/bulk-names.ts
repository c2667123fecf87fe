import pg from 'pg'
import type { Hostname } from '../../src/hostname.ts'
import { createSealer } from '../../src/lib/seal.ts'
import type { BulkCertificate } from './bulk-certificates.ts'
import { DIGITS, partsOf } from './numbered-names.ts'

const CERTIFICATES_A_STATEMENT = 2_000

/**
 * Claims `count` hostnames, counted up from `first`, verified and never to be checked again, half a minute for a million: by SQL, past the trigger
 * that asks about wildcards once a name, and past the feed. A local copy sees them that takes its snapshot afterwards.
 */
export async function claimInBulk(databaseUrl: string, wanted: { projectId: string; first: Hostname; count: number }): Promise<void> {
  const { number, zone } = partsOf(wanted.first)
  await withClient(databaseUrl, async (client) => {
    await client.query('begin')
    await client.query('set local session_replication_role = replica')
    await client.query(
      `with claimed as (
         insert into domains (project_id, hostname, verified_at)
         select $1, 'n' || lpad(number::text, ${DIGITS}, '0') || '.' || $2, now() from generate_series($3::int, $4::int) number returning id)
       insert into probes (domain_id, next_probe_at) select id, null from claimed`,
      [wanted.projectId, zone, number, number + wanted.count - 1],
    )
    await client.query('commit')
    await client.query('analyze domains, probes')
  })
}

/** Keeps the certificates as imported ones of claimed hostnames, sealed with the installation's secret. Past the feed, as above. */
export async function keepCertificatesInBulk(
  databaseUrl: string,
  wanted: { projectId: string; secret: string; certificates: readonly BulkCertificate[] },
): Promise<void> {
  const sealer = createSealer([wanted.secret], 'certificate-keys')
  await withClient(databaseUrl, async (client) => {
    for (let at = 0; at < wanted.certificates.length; at += CERTIFICATES_A_STATEMENT) {
      const some = wanted.certificates.slice(at, at + CERTIFICATES_A_STATEMENT)
      await client.query(
        `insert into certificates (hostname, project_id, origin, state, chain_pem, sealed_key, issuer, serial, not_before, not_after, renew_at)
         select hostname, $1, 'imported', 'issued', chain, key, 'Bench CA', '01', now() - interval '1 day', $5, $5
         from unnest($2::text[], $3::text[], $4::bytea[]) kept (hostname, chain, key)`,
        [
          wanted.projectId,
          some.map(({ hostname }) => hostname),
          some.map(({ chainPem }) => chainPem),
          some.map(({ hostname, keyPem }) => sealer.seal(Buffer.from(keyPem), hostname)),
          some[0]!.notAfter,
        ],
      )
    }
  })
}

async function withClient(databaseUrl: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
