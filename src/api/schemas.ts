import { type TSchema, Type } from 'typebox'
import { DELEGATION_STATES, DNS_STATES } from '../core/dns-report.ts'
import { ORDER_OUTCOMES } from '../core/order-history.ts'
import { RENEWAL_PLANS } from '../core/renewal-plan.ts'
import { ERROR_CODES } from '../errors.ts'
import { PAGE_LIMITS } from './page-limits.ts'

const EXAMPLE_TIME = '2026-11-21T09:30:00.000Z'

const hostname = Type.String({
  description:
    'A fully-qualified domain name: ASCII (punycode for international names), lower case, without a final dot. Or a wildcard: `*.` before one.',
  examples: ['shop.customer.com'],
})
const projectSlug = Type.String({ description: 'Slug of the project that holds the hostname.', examples: ['acme'] })
const time = (description: string) => Type.String({ format: 'date-time', description, examples: [EXAMPLE_TIME] })
const timeOrNull = (description: string) => Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })
const textOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const exact = { additionalProperties: false }

export const MetadataSchema = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'Your own JSON object, at most 16 KB. It comes back exactly as you sent it: key order and number notation included.',
    examples: [{ customer: 42, theme: 'dark' }],
  },
)

const domainFields = {
  hostname,
  projectSlug,
  verified: Type.Boolean({ description: 'False at registration; true once the DNS check has found the record.' }),
  verifiedAt: timeOrNull('When the DNS check first found the record; null while unverified.'),
  createdAt: time('When the hostname was registered.'),
  metadata: MetadataSchema,
}

export const DomainSchema = Type.Object(domainFields, {
  $id: 'Domain',
  title: 'Domain',
  description: 'The record by which a project holds a hostname.',
  ...exact,
})

const DnsRecordSchema = Type.Object(
  {
    name: Type.String({ examples: ['shop.customer.com'] }),
    type: Type.Enum(['CNAME', 'DNAME', 'ALIAS', 'A', 'AAAA', 'TXT'], {
      description:
        '`ALIAS`, which some providers call ANAME or a flattened CNAME, is expected at a domain itself where no addresses are set for it; never found. `DNAME`, which leads all names below its own elsewhere, is never expected.',
    }),
    value: Type.String(),
  },
  exact,
)

const DelegationSchema = Type.Object(
  {
    name: Type.String({ examples: ['_acme-challenge.shop.customer.com'] }),
    type: Type.Literal('CNAME'),
    value: Type.String({ description: "The project's own name for this hostname's challenges." }),
    state: Type.Enum([...DELEGATION_STATES], { description: 'What the last check found; `elsewhere` is a CNAME of another name.' }),
    sentence: Type.String({ description: 'The same for the owner of the hostname. Show it as it is.' }),
  },
  exact,
)

const DnsSchema = Type.Object(
  {
    state: Type.Enum([...DNS_STATES], { description: 'What the last check found.' }),
    sentence: Type.String({
      description: 'The same for the owner of the hostname: which record is wrong, and what to change. Show it as it is.',
    }),
    expected: Type.Array(DnsRecordSchema, { description: 'The records that the owner of the hostname adds.' }),
    found: Type.Array(DnsRecordSchema, {
      description:
        'The records that the check found, in the order in which they were followed; a wildcard record that is not right stands under its own name, `*.customer.com`.',
    }),
    warnings: Type.Array(
      Type.Object({ kind: Type.Enum(['caa-forbids', 'aaaa-elsewhere', 'cname-at-apex']), sentence: Type.String() }, exact),
      {
        description: 'What will be in the way, beside the state.',
      },
    ),
    delegation: Type.Union([DelegationSchema, Type.Null()], {
      description:
        'One more record, which is not needed: with it the certificate is issued before the hostname leads here. Null where this installation has no DNS zone.',
    }),
    checkedAt: timeOrNull('When the last check ended; null before the first.'),
    nextCheckAt: timeOrNull('When the next check is due; null when none is planned.'),
  },
  { ...exact, description: 'How the DNS of the hostname stands.' },
)

const attemptErrorOrNull = (description: string) =>
  Type.Union(
    [
      Type.Object(
        {
          sentence: Type.String({ description: 'Why, for people.' }),
          problem: Type.Object(
            {},
            { additionalProperties: true, description: "The authority's own problem document (RFC 8555), in full." },
          ),
        },
        exact,
      ),
      Type.Null(),
    ],
    { description },
  )

const RenewalOrNull = Type.Union(
  [
    Type.Object(
      {
        plan: Type.Enum([...RENEWAL_PLANS], {
          description:
            'Why it is renewed at `renewAt`: `ari`, the authority wishes it (RFC 9773); `lifetime`, about two thirds of it have passed; `imported`, it ends then. `stopped`: it is not renewed any more.',
        }),
        sentence: Type.String({ description: 'The same for people, with what to do.' }),
        explanationUrl: textOrNull("The authority's page on why it wishes an earlier renewal."),
        ariCheckedAt: timeOrNull('When the authority last said when it wishes the renewal.'),
        dnsLeftAt: timeOrNull('Since when attempts to renew find the DNS leading elsewhere; null when the last one did not.'),
        stoppedAt: timeOrNull('When renewal stopped.'),
      },
      exact,
    ),
    Type.Null(),
  ],
  { description: 'Why and when the certificate in hand is renewed; null while there is none.' },
)

export const CertificateSchema = Type.Object(
  {
    state: Type.Enum(['none', 'pending', 'issued', 'failed'], {
      description: '`issued` stays while a renewal is under way or has failed.',
    }),
    origin: Type.Union([Type.Enum(['ordered', 'imported']), Type.Null()], {
      description: 'Ordered from an authority, or brought by you or the operator; null while there is none.',
    }),
    issuer: textOrNull('Who issued it.'),
    serial: textOrNull('Serial number, hexadecimal.'),
    notBefore: timeOrNull('Valid from.'),
    notAfter: timeOrNull('Valid until.'),
    renewAt: timeOrNull('When it is renewed; of an imported one its end, for no order replaces it before.'),
    attempts: Type.Integer({ minimum: 0, description: 'Attempts since the last success.' }),
    lastAttemptAt: timeOrNull('When the last attempt began.'),
    lastError: attemptErrorOrNull('Why the last attempt failed; null once one has succeeded.'),
    nextAttemptAt: timeOrNull('When the next attempt is due.'),
    nextIssuanceAt: timeOrNull('When a limit of the certificate authority lets the next order be sent; null when none holds it back.'),
    nextIssuanceReason: textOrNull('Which limit that is, and what to do.'),
    renewal: RenewalOrNull,
  },
  { ...exact, description: 'How the certificate of the hostname stands.' },
)

const LiveSchema = Type.Object(
  {
    seenAt: timeOrNull('When one last came through; null while none has, since the DNS is right.'),
    sentence: textOrNull(
      'Why the last ones did not, which may be for want of hairpin NAT, or which edge does not have the hostname yet; null while nothing is known against it.',
    ),
  },
  { ...exact, description: "The service's own requests to the hostname over HTTPS, made when its DNS or its certificate has changed." },
)

const ProviderOrNull = Type.Union(
  [
    Type.Object(
      { id: Type.String({ examples: ['cloudflare'] }), name: Type.String({ description: 'As people know it.', examples: ['Cloudflare'] }) },
      exact,
    ),
    Type.Null(),
  ],
  { description: 'Who runs the DNS of the zone, by its name servers; null while that is not known, and once there is nothing to add.' },
)

export const DomainDetailsSchema = Type.Object(
  {
    ...domainFields,
    dns: DnsSchema,
    certificate: CertificateSchema,
    zone: textOrNull('The domain in whose DNS the records are entered; null before the first check.'),
    provider: ProviderOrNull,
    live: LiveSchema,
  },
  { $id: 'DomainDetails', title: 'DomainDetails', description: 'A domain with its DNS and its certificate.', ...exact },
)

export const OrderRecordSchema = Type.Object(
  {
    beganAt: time('When the attempt began.'),
    endedAt: timeOrNull('When it ended; null while it is under way.'),
    outcome: Type.Enum([...ORDER_OUTCOMES], {
      description: '`abandoned`: it never came to an end, or was overtaken. `imported`: the certificate was brought, not ordered.',
    }),
    renewing: Type.Boolean({ description: 'Whether the hostname had a certificate already.' }),
    issuer: textOrNull('Who issued it.'),
    serial: textOrNull('Serial number, hexadecimal.'),
    notAfter: timeOrNull('What was issued is valid until then.'),
    error: attemptErrorOrNull('Why it failed; null unless it did.'),
  },
  { $id: 'OrderRecord', title: 'OrderRecord', description: 'One attempt to obtain the certificate of a hostname.', ...exact },
)

export const ResolvedSchema = Type.Object(
  {
    hostname: Type.String({ description: 'The hostname that was asked for.', examples: ['shop.customer.com'] }),
    projectSlug,
    upstreamUrl: Type.String({ format: 'uri', description: "The project's upstream.", examples: ['https://app.example.com'] }),
    metadata: MetadataSchema,
  },
  { $id: 'Resolved', title: 'Resolved', description: 'What a hostname stands for.', ...exact },
)

export const HealthSchema = Type.Object({ status: Type.Literal('ok') }, { $id: 'Health', title: 'Health', ...exact })

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: 'Where this kind of problem is explained.' }),
    title: Type.String({ description: 'The kind of problem, in words.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    code: Type.Enum([...ERROR_CODES], {
      description: 'The kind of problem, for programs. A code keeps its meaning for ever; new ones may be added.',
    }),
    detail: Type.String({ description: 'What is wrong in this case, and what to do.' }),
    requestId: Type.String({ description: 'Name it when you ask for help; the same as the X-Request-Id header.' }),
  },
  { $id: 'Problem', title: 'Problem', description: 'Every error (RFC 9457, application/problem+json).', ...exact },
)

export const RegistrationSchema = Type.Object(
  {
    hostname: Type.String({
      description: 'The hostname or wildcard to claim. Upper case, a final dot and international characters are normalised.',
      examples: ['shop.customer.com', '*.customer.com'],
    }),
    metadata: Type.Optional(MetadataSchema),
  },
  exact,
)

export const HostnameParams = Type.Object({
  hostname: Type.String({ description: 'The hostname or wildcard, URL-encoded.', examples: ['shop.customer.com', '*.customer.com'] }),
})

export const ResolveQuery = Type.Object({
  hostname: Type.String({ description: 'The hostname to look up; no wildcard, but a name under one.', examples: ['shop.customer.com'] }),
})

export const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.String({
      pattern: PAGE_LIMITS.domains.pattern,
      description: 'At most so many domains, 1 to 1000. Everything by default.',
      examples: ['100'],
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'Where the last page ended: follow the Link header instead of building this.' })),
  verified: Type.Optional(Type.Enum(['true', 'false'], { description: 'Only verified, or only unverified domains.' })),
  order: Type.Optional(
    Type.Enum(['oldest', 'newest'], { description: 'Which were claimed first, or last, come first; `oldest` by default.' }),
  ),
  search: Type.Optional(
    Type.String({
      description:
        'Only hostnames that contain this text, as the DNS has them, or as their owners spell them: `büch` finds `xn--bcher-kva.example`. Among more than 10,000 names in other letters it takes a whole label.',
      examples: ['customer'],
    }),
  ),
})

/** The schemas that have a name in the OpenAPI document. */
export const NAMED_SCHEMAS: readonly TSchema[] = [
  DomainSchema,
  DomainDetailsSchema,
  OrderRecordSchema,
  ResolvedSchema,
  HealthSchema,
  ProblemSchema,
]
