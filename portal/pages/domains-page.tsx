import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { API_URL } from '../api.ts'
import { AddDomain } from '../components/add-domain.tsx'
import { AddManyDomains } from '../components/add-many-domains.tsx'
import { Button } from '../components/button.tsx'
import { EmptyState, Skeleton } from '../components/card.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { DomainList } from '../components/domain-list.tsx'
import { BareSelect } from '../components/field.tsx'
import { LoadProblem } from '../components/notice.tsx'
import { useDraft } from '../edits.ts'
import { usePageTitle } from '../page-title.ts'
import { type DomainFilter, queries } from '../queries.ts'
import type { Project } from '../records.ts'
import { useSlug } from '../route-params.ts'
import { text } from '../strings.ts'

const SEARCH_PAUSE_MS = 200
const NO_DOMAIN = { hostname: '' }
const NO_DOMAINS = { pasted: '' }
const words = text.domains

/** A project's domains: search, filter, add. The address keeps search and filter, so that a view can be sent to a colleague. */
export function DomainsPage() {
  const slug = useSlug()
  const filter = useSearch({ from: '/signed-in/projects/$slug/' })
  const project = useQuery(queries.project(slug))
  const list = useInfiniteQuery({ ...queries.domains(slug, filter), placeholderData: (shown) => shown })
  const [one, many] = [useDraft(`domain to add to ${slug}`, NO_DOMAIN), useDraft(`domains to add to ${slug}`, NO_DOMAINS)]
  const [adding, setAdding] = useState<'one' | 'many' | undefined>(one.isRestored ? 'one' : many.isRestored ? 'many' : undefined)
  usePageTitle(project.data ? `${words.title} · ${project.data.name}` : words.title)
  const isFiltered = Boolean(filter.search || filter.verified)
  const domains = list.data?.pages.flatMap(({ items }) => items) ?? []
  const isEmpty = list.isSuccess && domains.length === 0
  const isLoading = list.isPending || (isEmpty && !isFiltered && list.isPlaceholderData) // a search that found nothing says nothing of the project
  const more = () => void list.fetchNextPage({ cancelRefetch: false })
  const add = (
    <>
      <Button look="primary" onClick={() => setAdding('one')}>
        {words.add}
      </Button>
      <Button onClick={() => setAdding('many')}>{words.addMany}</Button>
    </>
  )
  return (
    <>
      <h1 className="sr-only">{words.title}</h1>
      {isEmpty && !isFiltered && !isLoading ? (
        <FirstDomain>{add}</FirstDomain>
      ) : (
        <>
          <Toolbar filter={filter} total={project.data}>
            {add}
          </Toolbar>
          {isLoading && <Skeleton rows={8} />}
          {list.error && !list.data && <LoadProblem error={list.error} onRetry={() => void list.refetch()} />}
          {isEmpty && !isLoading && <NothingFound />}
          {domains.length > 0 && (
            <DomainList
              slug={slug}
              domains={domains}
              total={isFiltered ? undefined : project.data?.domains}
              hasMore={list.hasNextPage}
              isLoadingMore={list.isFetchingNextPage}
              onMore={list.isFetchNextPageError ? undefined : more}
            />
          )}
          {list.isFetchNextPageError && !list.isFetchingNextPage && (
            <div className="mt-4">
              <LoadProblem error={list.error} onRetry={more} />
            </div>
          )}
        </>
      )}
      {adding === 'one' && <AddDomain slug={slug} draft={one} onClose={() => setAdding(undefined)} />}
      {adding === 'many' && <AddManyDomains slug={slug} draft={many} onClose={() => setAdding(undefined)} />}
    </>
  )
}

function Toolbar({ filter, total, children }: { filter: DomainFilter; total: Project | undefined; children: React.ReactNode }) {
  const navigate = useNavigate({ from: '/projects/$slug' })
  const search = filter.search ?? ''
  const [typed, setTyped] = useState(search)
  const asked = useRef(search)
  useEffect(() => {
    if (search === asked.current) return // what was typed here: more may have been typed since
    asked.current = search
    setTyped(search)
  }, [search])
  useEffect(() => {
    if (typed.trim() === search) return
    const timer = setTimeout(() => {
      asked.current = typed.trim()
      void navigate({ search: { ...filter, search: typed.trim() || undefined }, replace: true })
    }, SEARCH_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed, search, filter, navigate])
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <input
        type="search"
        aria-label={words.search}
        placeholder={words.search}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        autoComplete="off"
        spellCheck={false}
        className="min-h-10 min-w-0 flex-1 basis-48 rounded-lg border border-stone-400/80 bg-white px-3 text-base shadow-xs placeholder:text-stone-500 sm:text-sm dark:border-stone-600 dark:bg-stone-900 dark:placeholder:text-stone-400"
      />
      <BareSelect
        label={words.filter}
        value={filter.verified ?? 'all'}
        onChange={({ target }) =>
          void navigate({
            search: { ...filter, verified: target.value === 'all' ? undefined : (target.value as 'true' | 'false') },
            replace: true,
          })
        }
      >
        {(['all', 'true', 'false'] as const).map((one) => (
          <option key={one} value={one}>
            {words.filters[one]}
          </option>
        ))}
      </BareSelect>
      <BareSelect
        label={words.order}
        value={filter.order ?? 'newest'}
        onChange={({ target }) =>
          void navigate({ search: { ...filter, order: target.value === 'oldest' ? 'oldest' : undefined }, replace: true })
        }
      >
        {(['newest', 'oldest'] as const).map((one) => (
          <option key={one} value={one}>
            {words.orders[one]}
          </option>
        ))}
      </BareSelect>
      <div className="flex gap-2">{children}</div>
      <p className="basis-full text-sm text-stone-600 tabular-nums dark:text-stone-400">
        {total ? words.total(total.domains, total.plan.domainsMax) : '\u00a0'}
      </p>
    </div>
  )
}

function FirstDomain({ children }: { children: React.ReactNode }) {
  const curl = `curl ${API_URL}/v1/edge/domains \\
  -H "Authorization: Bearer $NAMESAKE_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"hostname": "shop.customer.com"}'`
  return (
    <EmptyState title={words.emptyTitle} action={<div className="flex flex-wrap justify-center gap-2">{children}</div>}>
      <p>{words.emptyText}</p>
      <details className="w-full max-w-md text-sm">
        <summary className="cursor-pointer rounded py-1">{words.emptyApi}</summary>
        <div className="mt-2 min-w-0">
          <CodeBlock label={text.start.terminal} code={curl} />
        </div>
      </details>
    </EmptyState>
  )
}

function NothingFound() {
  const navigate = useNavigate({ from: '/projects/$slug' })
  return (
    <EmptyState title={words.nothingTitle} action={<Button onClick={() => void navigate({ search: {} })}>{words.clear}</Button>}>
      <p>{words.nothingText}</p>
    </EmptyState>
  )
}
