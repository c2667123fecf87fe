import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { IssuedRecord } from '../core/certificates.ts'
import type { ClaimRules } from '../core/claim-rules.ts'
import type { Db } from '../core/db.ts'
import { findDomain } from '../core/domains.ts'
import { importCertificate, orderInsteadOfImported } from '../core/imported-certificate.ts'
import type { Project } from '../core/projects.ts'
import { type Hostname, parseClaimName } from '../hostname.ts'
import { sendJson } from './domain-list.ts'
import { BODY_CODES, HOSTNAME_CODES, refusals, TOKEN_CODES } from './openapi.ts'
import { CertificateSchema, HostnameParams } from './schemas.ts'

export type DomainCertificatesParts = {
  db: Db
  rules: ClaimRules
  /** Validates a certificate that was obtained elsewhere, and seals its key. Throws `certificate_invalid`, which names every fault. */
  readImported(hostname: Hostname, sent: { chain: string; key: string }): { record: Omit<IssuedRecord, 'renewAt'>; warnings: string[] }
  wrote(hostname: Hostname): void
}

const TOKEN = [{ token: [] }]

/** `/v1/edge/domains/{hostname}/certificate`: certificates that were obtained elsewhere. Every request has a caller by now. */
export function domainCertificates(instance: FastifyInstance, parts: DomainCertificatesParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const certificateOf = async (project: Project, hostname: Hostname) =>
    (await findDomain(parts.db, project, hostname, parts.rules)).certificate

  app.put('/v1/edge/domains/:hostname/certificate', { schema: IMPORT }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    const { project } = request.caller
    await certificateOf(project, hostname) // a stranger's certificate is not even read
    const { record, warnings } = parts.readImported(hostname, request.body)
    await importCertificate(parts.db, hostname, record, project)
    parts.wrote(hostname)
    return sendJson(reply, JSON.stringify({ certificate: await certificateOf(project, hostname), warnings }))
  })

  app.delete('/v1/edge/domains/:hostname/certificate', { schema: HAND_BACK }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    await orderInsteadOfImported(parts.db, hostname, request.caller.project)
    parts.wrote(hostname)
    return reply.code(204).send(null)
  })
}

const IMPORT = {
  operationId: 'importCertificate',
  tags: ['Domains'],
  summary: 'Bring a certificate of your own',
  description:
    'Serves the hostname with a certificate that you obtained elsewhere, within a second. Nothing replaces it while it is valid; when it ends without another, one is ordered. It is refused, with every reason, when chain, key, names or dates do not fit. The key is kept sealed and never comes back.',
  security: TOKEN,
  params: HostnameParams,
  body: Type.Object(
    {
      chain: Type.String({ description: "Certificates in PEM: the hostname's own first, each signed by the next." }),
      key: Type.String({ description: 'Its private key in PEM, not encrypted: RSA of 2048 to 4096 bits, or ECDSA on P-256 or P-384.' }),
    },
    { additionalProperties: false },
  ),
  response: {
    200: Type.Object(
      { certificate: CertificateSchema, warnings: Type.Array(Type.String({ description: 'What some visitors may not like.' })) },
      { description: 'It is kept.', additionalProperties: false },
    ),
    ...refusals('certificate_invalid', ...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}

const HAND_BACK = {
  operationId: 'orderInsteadOfImported',
  tags: ['Domains'],
  summary: 'Have a certificate ordered in place of your own',
  description:
    'Hands the certificate back to the service: one is ordered as soon as the DNS leads here, and renewed from then on. The imported one serves until then. No body is needed.',
  security: TOKEN,
  params: HostnameParams,
  response: {
    204: Type.Null({ description: 'One is ordered.' }),
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}
