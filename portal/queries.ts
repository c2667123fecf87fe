import { infiniteQueryOptions, MutationCache, QueryCache, QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query'
import { ApiProblem, api } from './api.ts'
import type { Domain, DomainStatus } from './records.ts'

const FRESH_MS = 10_000
const RETRIES_MAX = 2
const DOMAINS_A_PAGE = 100
const ACTIVITIES_A_PAGE = 50

/**
 * What is shown again is shown at once and refreshed behind; a refusal is not asked again, a silence is. Without a network all is tried alike, and fails
 * at once: what waited for the network would be done later, also when whoever wanted it has given it up.
 */
export function createQueryClient(onProblem: (error: Error) => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: onProblem }),
    mutationCache: new MutationCache({ onError: onProblem }),
    defaultOptions: {
      queries: {
        networkMode: 'always',
        refetchOnReconnect: true, // else off in this mode
        staleTime: FRESH_MS,
        retry: (failures, error) => failures < RETRIES_MAX && (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })
}

export type DomainFilter = { search?: string | undefined; verified?: 'true' | 'false' | undefined; order?: 'oldest' | undefined }

export const queries = {
  me: () => queryOptions({ queryKey: ['me'], queryFn: api.me, staleTime: 60_000 }),
  /** Whose the link is, and who is signed in here already. */
  signInLink: (token: string) =>
    queryOptions({
      queryKey: ['sign-in-link', token],
      queryFn: async () => {
        const [{ email }, me] = await Promise.all([api.showLink(token), api.me().catch(() => undefined)])
        return { email, signedInAs: me?.email }
      },
      staleTime: Number.POSITIVE_INFINITY,
    }),
  projects: () => queryOptions({ queryKey: ['projects'], queryFn: api.projects }),
  project: (slug: string) => queryOptions({ queryKey: ['project', slug], queryFn: () => api.project(slug) }),
  domains: (slug: string, { search, verified, order }: DomainFilter) =>
    infiniteQueryOptions({
      queryKey: ['project', slug, 'domains', { search: search ?? '', verified: verified ?? '', order: order ?? 'newest' }],
      queryFn: ({ pageParam }) => {
        const query = new URLSearchParams({ details: 'status', limit: String(DOMAINS_A_PAGE), order: order ?? 'newest' })
        if (search) query.set('search', search)
        if (verified) query.set('verified', verified)
        if (pageParam) query.set('cursor', pageParam)
        return api.domains(slug, query)
      },
      initialPageParam: null as string | null,
      getNextPageParam: (last) => last.next,
    }),
  domain: (slug: string, hostname: string) =>
    queryOptions({ queryKey: ['project', slug, 'domain', hostname], queryFn: () => api.domain(slug, hostname) }),
  tokens: (slug: string) => queryOptions({ queryKey: ['project', slug, 'tokens'], queryFn: () => api.tokens(slug) }),
  members: (slug: string) => queryOptions({ queryKey: ['project', slug, 'members'], queryFn: () => api.members(slug) }),
  activity: (slug: string) =>
    infiniteQueryOptions({
      queryKey: ['project', slug, 'activity'],
      queryFn: ({ pageParam }) => {
        const query = new URLSearchParams({ limit: String(ACTIVITIES_A_PAGE) })
        if (pageParam) query.set('cursor', pageParam)
        return api.activity(slug, query)
      },
      initialPageParam: null as string | null,
      getNextPageParam: (last) => last.next,
    }),
  connect: (token: string) => queryOptions({ queryKey: ['connect', token], queryFn: () => api.connect(token) }),
}

/** What the stream says of a domain. */
export type DomainNews = {
  hostname: string
  removed?: boolean
  status?: DomainStatus
  verified?: boolean
  verifiedAt?: string | null
  createdAt?: string
}
type Pages = { pages: { items: Domain[]; next: string | null }[] }

/** `added`: a new one, on top of the lists where it belongs. `beyond`: on a page of the list that was not asked for yet, where it will be found as it is by then. */
export type NewsOutcome = { kind: 'shown'; before: DomainStatus } | { kind: 'added' } | { kind: 'new' } | { kind: 'beyond' }

/**
 * Writes the news into every list that shows the domain; says whether one did, and which status it showed before. Into a list that is being fetched it
 * is written again afterwards: a further page is put behind those that were there when it was asked for.
 */
export function applyNews(client: QueryClient, slug: string, news: DomainNews): NewsOutcome {
  const lists = ['project', slug, 'domains']
  for (const { promise, queryKey } of client.getQueryCache().findAll({ queryKey: lists, fetchStatus: 'fetching' })) {
    const again = () => void writeNews(client, queryKey, slug, news)
    promise?.then(again, again)
  }
  return writeNews(client, lists, slug, news)
}

function writeNews(client: QueryClient, lists: QueryKey, slug: string, news: DomainNews): NewsOutcome {
  let before: DomainStatus | undefined
  let isEndShown = false
  const update = (domain: Domain): Domain => {
    if (domain.hostname !== news.hostname) return domain
    before = domain.status
    const { status = domain.status, verified = domain.verified, verifiedAt = domain.verifiedAt } = news
    return { ...domain, status, verified, verifiedAt }
  }
  client.setQueriesData<Pages>({ queryKey: lists }, (data) => {
    if (!data) return data
    if (data.pages.at(-1)?.next === null) isEndShown = true
    if (!data.pages.some(({ items }) => items.some(({ hostname }) => hostname === news.hostname))) return data
    const pages = data.pages.map((page) => ({ ...page, items: page.items.map(update) }))
    if (!news.removed) return { ...data, pages }
    return { ...data, pages: pages.map((page) => ({ ...page, items: page.items.filter(({ hostname }) => hostname !== news.hostname) })) }
  })
  if (before === undefined && putOnTop(client, lists, slug, news)) return { kind: 'added' }
  if (before !== undefined) return { kind: 'shown', before }
  return { kind: isEndShown ? 'new' : 'beyond' }
}

/** Puts a domain that is newer than all others on top of the lists that begin with the newest. */
function putOnTop(
  client: QueryClient,
  lists: QueryKey,
  slug: string,
  { hostname, removed, status, verified = false, verifiedAt = null, createdAt }: DomainNews,
): boolean {
  if (removed || !status || !createdAt) return false
  const domain: Domain = { hostname, projectSlug: slug, verified, verifiedAt, createdAt, metadata: {}, status }
  let isAdded = false
  for (const [key, data] of client.getQueriesData<Pages>({ queryKey: lists })) {
    const filter = key[3] as { search: string; verified: string; order: string }
    const [first, ...others] = data?.pages ?? []
    const isNewest = first && (first.items[0]?.createdAt ?? '') <= createdAt
    if (!data || !isNewest || filter.order !== 'newest' || !hostname.includes(filter.search.toLowerCase())) continue
    if (filter.verified !== '' && filter.verified !== String(verified)) continue
    client.setQueryData<Pages>(key, { ...data, pages: [{ ...first, items: [domain, ...first.items] }, ...others] })
    isAdded = true
  }
  return isAdded
}
