import { type TSchema, Type } from 'typebox'
import { ACTIONS } from '../core/activity.ts'
import { DOMAIN_STATUSES } from '../core/domain-status.ts'
import { ROLES } from '../core/member-roles.ts'
import { UPSTREAM_PROTOCOLS } from '../core/upstream-url.ts'
import { PAGE_LIMITS } from './page-limits.ts'
import { DomainDetailsSchema, DomainSchema, HostnameParams, ListQuery, MetadataSchema } from './schemas.ts'

const exact = { additionalProperties: false }
const EXAMPLE_TIME = '2026-11-21T09:30:00.000Z'
const time = (description: string) => Type.String({ format: 'date-time', description, examples: [EXAMPLE_TIME] })
const timeOrNull = (description: string) => Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })
const named = ($id: string, description: string) => ({ $id, title: $id, description, ...exact })

const email = Type.String({
  description:
    'An e-mail address; upper and lower case are the same, and so are both forms of an international domain, which is answered as the DNS has it.',
  examples: ['ada@vendor.com'],
})
const role = Type.Enum([...ROLES], {
  description: '`member`: sees everything, manages domains. `admin`: also tokens, members and settings. `owner`: everything.',
})
const projectName = Type.String({ description: 'Friendly name, 1 to 80 characters.', examples: ['Shop'] })
const slug = Type.String({ description: "The project's name in addresses, fixed once made.", examples: ['shop'] })
const upstreamUrl = Type.String({ description: 'Where its application lives: an http(s) origin.', examples: ['https://app.vendor.com'] })
const upstreamProtocol = Type.Enum([...UPSTREAM_PROTOCOLS], {
  description:
    'How it is spoken to. `http1`: HTTP/1.1. `h2`: HTTP/2 over TLS, for an https URL. `h2c`: HTTP/2 in plain text, for an http URL. gRPC needs one of the last two.',
})

export const LinkRequestSchema = Type.Object({ email }, exact)
export const LinkExchangeSchema = Type.Object({ token: Type.String({ description: 'What stands behind #token= in the link.' }) }, exact)

const LinkSentSchema = Type.Object(
  {
    sent: Type.Literal(true),
    inbox: Type.Optional(Type.String({ description: 'Where this local installation, which has no mail server, keeps its mail.' })),
  },
  named('LinkSent', 'A sign-in link is on its way.'),
)

const MagicLinkSchema = Type.Object({ email }, named('MagicLink', 'A sign-in link that works.'))

const UserSchema = Type.Object(
  {
    email,
    projects: Type.Array(Type.Object({ slug, name: projectName, role }, exact), { description: 'What this session sees.' }),
    signedInAt: time('When this session began.'),
  },
  named('User', 'Somebody who is signed in.'),
)

const brandParts = {
  color: Type.Union([Type.String(), Type.Null()], { description: '`#rrggbb`, or null.', examples: ['#1a56c4'] }),
  logoUrl: Type.Union([Type.String(), Type.Null()], { description: 'An https URL, or null.', examples: ['https://vendor.com/logo.svg'] }),
}

const errorPage = Type.Union([Type.String(), Type.Null()], {
  description:
    'HTML of at most 32 KB that visitors see while your application does not answer, with `{{hostname}}` and `{{requestId}}` filled in; null: our own page. Not in lists.',
  examples: ['<!doctype html><title>Back soon</title><p>{{hostname}} is back soon. ({{requestId}})'],
})

const cnameTarget = Type.Union([Type.String(), Type.Null()], {
  description:
    'A hostname of your own that your customers are told in place of the edge host; it leads there itself, as by a CNAME. null: the edge host.',
  examples: ['customers.vendor.com'],
})

const projectFields = {
  slug,
  name: projectName,
  role,
  upstreamUrl,
  upstreamProtocol,
  plan: Type.Object(
    { name: Type.String(), domainsMax: Type.Union([Type.Integer(), Type.Null()], { description: 'null: no limit.' }) },
    exact,
  ),
  domains: Type.Integer({ minimum: 0, description: 'How many it holds.' }),
  brand: Type.Object(brandParts, { ...exact, description: 'How its pages for customers look.' }),
  errorPage: Type.Optional(errorPage),
  cnameTarget,
  edgeHost: Type.Optional(
    Type.String({
      description: 'What `cnameTarget` must lead to, and customers are told while it is null. Not in lists.',
      examples: ['edge.example.com'],
    }),
  ),
  createdAt: time('When it was made.'),
}

const ProjectSchema = Type.Object(projectFields, named('Project', 'A project as its members see it.'))

const ChangedProjectSchema = Type.Object(
  {
    ...projectFields,
    upstreamCheck: Type.Optional(
      Type.Union(
        [
          Type.Object({ kind: Type.Literal('answered'), status: Type.Integer() }, exact),
          Type.Object({ kind: Type.Literal('unreachable'), sentence: Type.String() }, exact),
        ],
        {
          description:
            'What came back when the upstream was tried just now; there when its URL or protocol is new. Unreachable is only a warning.',
        },
      ),
    ),
  },
  named('ChangedProject', 'A project, and what its upstream answered.'),
)

export const NewProjectSchema = Type.Object(
  { name: projectName, slug: Type.Optional(slug), upstreamUrl, upstreamProtocol: Type.Optional(upstreamProtocol) },
  exact,
)

export const ProjectChangesSchema = Type.Object(
  {
    name: Type.Optional(projectName),
    upstreamUrl: Type.Optional(upstreamUrl),
    upstreamProtocol: Type.Optional(upstreamProtocol),
    brand: Type.Optional(Type.Object({ color: Type.Optional(brandParts.color), logoUrl: Type.Optional(brandParts.logoUrl) }, exact)),
    errorPage: Type.Optional(errorPage),
    cnameTarget: Type.Optional(cnameTarget),
  },
  exact,
)

const MemberSchema = Type.Object(
  {
    email,
    role,
    invitedAt: time('When they were invited.'),
    joinedAt: timeOrNull('When they signed in first; null before.'),
    etag: Type.String({ description: 'What a change of the role takes as `If-Match`.', examples: ['"8c6976e5b5410415bde908bd4dee15df"'] }),
  },
  named('Member', 'Somebody who belongs to a project.'),
)

export const InvitationSchema = Type.Object({ email, role }, exact)
export const RoleChangeSchema = Type.Object({ role }, exact)

const tokenFields = {
  id: Type.String({ examples: ['12'] }),
  name: Type.String({ description: 'What it is for; may be empty.' }),
  preview: Type.String({
    description: "The beginning of the token's SHA-256: tells which it is, opens nothing.",
    examples: ['sha256:0123456789ab…'],
  }),
  createdAt: time('When it was issued.'),
}

const TokenSchema = Type.Object(
  { ...tokenFields, lastUsedAt: timeOrNull('When it was last used.'), revokedAt: timeOrNull('When it was revoked.') },
  named('Token', 'A token as listings show it.'),
)

const IssuedTokenSchema = Type.Object(
  { ...tokenFields, token: Type.String({ description: 'The token itself, this once.', pattern: '^svc_[a-f0-9]{64}$' }) },
  named('IssuedToken', 'A token that was just issued.'),
)

export const NewTokenSchema = Type.Object(
  { name: Type.Optional(Type.String({ description: 'What it is for, up to 80 characters.' })) },
  exact,
)

const status = Type.Enum([...DOMAIN_STATUSES], { description: 'How far the domain has come, in one word.' })

const DomainWithStatusSchema = Type.Object(
  { ...DomainSchema.properties, status: Type.Optional(status) },
  named('PortalDomain', 'A domain, with its status where it was asked for.'),
)

const DomainDetailsWithStatusSchema = Type.Object(
  { ...DomainDetailsSchema.properties, status },
  named('PortalDomainDetails', 'A domain with its DNS, its certificate and its status.'),
)

export const MetadataChangeSchema = Type.Object({ metadata: MetadataSchema }, exact)

export const BulkSchema = Type.Object(
  { hostnames: Type.Array(Type.String(), { minItems: 1, maxItems: 1_000, description: 'Up to 1,000 hostnames.' }) },
  exact,
)

const BulkResultSchema = Type.Object(
  {
    results: Type.Array(
      Type.Object(
        {
          hostname: Type.String({ description: 'As it was sent.' }),
          outcome: Type.Enum(['claimed', 'exists', 'refused'], { description: '`exists`: the project held it already.' }),
          code: Type.Optional(Type.String({ description: 'Why it was refused, for programs.' })),
          detail: Type.Optional(Type.String({ description: 'Why it was refused, for people.' })),
        },
        exact,
      ),
    ),
  },
  named('BulkResult', 'What became of each hostname, in the order in which they were sent.'),
)

const ActivitySchema = Type.Object(
  {
    id: Type.String(),
    at: time('When it happened.'),
    actor: Type.Union(
      [
        Type.Object({ kind: Type.Literal('user'), email: Type.String() }, exact),
        Type.Object({ kind: Type.Literal('token'), name: Type.String(), preview: Type.String() }, exact),
        Type.Object({ kind: Type.Literal('operator') }, exact),
      ],
      { description: "Who did it; `operator`: somebody with the installation's command line." },
    ),
    action: Type.Enum([...ACTIONS]),
    subject: Type.String({ description: 'The hostname, address, token or slug that it was done to.' }),
    detail: Type.Object({}, { additionalProperties: true }),
  },
  named('Activity', 'A change to a project.'),
)

const slugParam = Type.String({ description: 'The slug of the project.', examples: ['shop'] })

export const SlugParams = Type.Object({ slug: slugParam })
export const TokenParams = Type.Object({ slug: slugParam, tokenId: Type.String({ description: 'The id of the token.', examples: ['12'] }) })
export const MemberParams = Type.Object({
  slug: slugParam,
  email: Type.String({ description: 'The address of the member, URL-encoded.', examples: ['ada@vendor.com'] }),
})
export const PortalHostnameParams = Type.Object({ slug: slugParam, ...HostnameParams.properties })

export const PortalListQuery = Type.Object({
  ...ListQuery.properties,
  details: Type.Optional(Type.Enum(['status'], { description: 'With `status`, each domain comes with its status.' })),
})

export const ActivityQuery = Type.Object({
  limit: Type.Optional(
    Type.String({ pattern: PAGE_LIMITS.activity.pattern, description: 'At most so many entries, 1 to 200; 50 by default.' }),
  ),
  cursor: Type.Optional(Type.String({ description: 'Where the last page ended: follow the Link header instead of building this.' })),
})

const ConnectLinkSchema = Type.Object(
  {
    url: Type.String({ description: 'The page for the owner of the hostname.' }),
    expiresAt: time('When it ends; sooner if the claim does.'),
  },
  named('ConnectLink', 'A link for the owner of a hostname, who needs no account.'),
)

const ConnectionSchema = Type.Object(
  {
    hostname: DomainDetailsSchema.properties.hostname,
    project: Type.Object({ name: projectName, ...brandParts }, { ...exact, description: 'Who asks for the record.' }),
    status,
    dns: DomainDetailsSchema.properties.dns,
    zone: DomainDetailsSchema.properties.zone,
    provider: DomainDetailsSchema.properties.provider,
    expiresAt: time('When the link ends.'),
  },
  named('Connection', 'What the owner of a hostname sees.'),
)

export const InstructionsSchema = Type.Object(
  { to: email, note: Type.Optional(Type.String({ description: 'Your own words, up to 1,000 characters.' })) },
  exact,
)

const InstructionsSentSchema = Type.Object({ sent: Type.Literal(true) }, named('InstructionsSent', 'The mail is on its way.'))

/** The portal's schemas that have a name in the OpenAPI document. */
export const NAMED_PORTAL_SCHEMAS: readonly TSchema[] = [
  LinkSentSchema,
  MagicLinkSchema,
  UserSchema,
  ProjectSchema,
  ChangedProjectSchema,
  MemberSchema,
  TokenSchema,
  IssuedTokenSchema,
  DomainWithStatusSchema,
  DomainDetailsWithStatusSchema,
  BulkResultSchema,
  ActivitySchema,
  ConnectLinkSchema,
  ConnectionSchema,
  InstructionsSentSchema,
]
