import { infiniteQueryOptions, MutationCache, notifyManager, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query'
import { ApiProblem, api } from './api.ts'
import { searchedFor } from './dns-names.ts'

const FRESH_MS = 10_000
const RETRIES_MAX = 2
const DOMAINS_A_PAGE = 100
const ACTIVITIES_A_PAGE = 50

// Before the next click or key is looked at, the page has been told of what the last one began. By a timer, as is the default, a busy machine would come
// to it later, and a form whose save is under way would take another.
notifyManager.setScheduler(queueMicrotask)

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
  domains: (slug: string, { search: typed = '', verified, order }: DomainFilter) => {
    const search = searchedFor(typed)
    return infiniteQueryOptions({
      queryKey: ['project', slug, 'domains', { search, verified: verified ?? '', order: order ?? 'newest' }],
      queryFn: ({ pageParam }) => {
        const query = new URLSearchParams({ details: 'status', limit: String(DOMAINS_A_PAGE), order: order ?? 'newest' })
        if (search) query.set('search', search)
        if (verified) query.set('verified', verified)
        if (pageParam) query.set('cursor', pageParam)
        return api.domains(slug, query)
      },
      initialPageParam: null as string | null,
      getNextPageParam: (last) => last.next,
    })
  },
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
