import type { QueryClient, QueryKey } from '@tanstack/react-query'
import type { Domain, DomainStatus } from './records.ts'
import { unicodeOf } from './unicode-name.ts'

/** What the stream says of a domain: how it stands, or that the project does not hold it any more. */
export type DomainNews = { hostname: string } & (
  | ({ removed: false } & Pick<Domain, 'verified' | 'verifiedAt' | 'createdAt' | 'status'>)
  | { removed: true }
)

type Items = Domain[]
type List = { pages: { items: Items; next: string | null }[] }
type Narrowing = { search: string; verified: '' | 'true' | 'false'; order: 'newest' | 'oldest' }

/**
 * Writes the news into every list that the domain belongs in, and takes it out of those where it does not any more. Says which status it was shown with
 * before; undefined where no list showed it. Into a list that is being fetched it is written again afterwards: a further page is put behind those
 * that were there when it was asked for.
 */
export function applyNews(client: QueryClient, slug: string, news: DomainNews): DomainStatus | undefined {
  const lists = ['project', slug, 'domains']
  for (const { promise, queryKey } of client.getQueryCache().findAll({ queryKey: lists, fetchStatus: 'fetching' })) {
    const again = () => void writeNews(client, queryKey, slug, news)
    promise?.then(again, again)
  }
  return writeNews(client, lists, slug, news)
}

function writeNews(client: QueryClient, lists: QueryKey, slug: string, { removed, ...news }: DomainNews): DomainStatus | undefined {
  let before: DomainStatus | undefined
  for (const [key, list] of client.getQueriesData<List>({ queryKey: lists })) {
    const narrowing = key[3] as Narrowing
    const shown = list?.pages.flatMap(({ items }) => items).find(({ hostname }) => hostname === news.hostname)
    const domain = { projectSlug: slug, metadata: {}, ...shown, ...news } as Domain
    const belongs = !removed && isWithin(narrowing, domain)
    before ??= shown?.status
    if (list && belongs && !shown) client.setQueryData<List>(key, insert(list, domain, narrowing))
    if (list && shown) client.setQueryData<List>(key, replace(list, shown, belongs ? [domain] : []))
  }
  return before
}

function isWithin({ search, verified }: Narrowing, domain: Domain): boolean {
  const isFound = domain.hostname.includes(search) || unicodeOf(domain.hostname)?.includes(search)
  return isFound === true && (verified === '' || verified === String(domain.verified))
}

function replace(list: List, shown: Domain, by: Items): List {
  return changeItems(list, (items) => items.flatMap((one) => (one === shown ? by : [one])))
}

/** Puts the domain where the list has it by its order; beyond what was loaded it is left out, and comes with the page that is asked for there. */
function insert(list: List, domain: Domain, { order }: Narrowing): List {
  const isBehind = (one: Domain) => (order === 'newest' ? isOlder(one, domain) : isOlder(domain, one))
  const page = list.pages.find(({ items }) => items.some(isBehind)) ?? list.pages.find(({ next }) => next === null)
  return changeItems(list, (items) => {
    if (items !== page?.items) return items
    const before = items.filter((one) => !isBehind(one))
    return [...before, domain, ...items.slice(before.length)]
  })
}

/** As the API sorts. */
function isOlder(one: Domain, other: Domain): boolean {
  return one.createdAt === other.createdAt ? one.hostname < other.hostname : one.createdAt < other.createdAt
}

function changeItems(list: List, change: (items: Items) => Items): List {
  return { ...list, pages: list.pages.map((page) => ({ ...page, items: change(page.items) })) }
}
