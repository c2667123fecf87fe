import { useInfiniteQuery } from '@tanstack/react-query'
import { Button } from '../components/button.tsx'
import { EmptyState, PageHead, Skeleton } from '../components/card.tsx'
import { LoadProblem } from '../components/notice.tsx'
import { Ago } from '../components/time.tsx'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import type { Activity } from '../records.ts'
import { useSlug } from '../route-params.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'

const words = text.activity

export function ActivityPage() {
  const slug = useSlug()
  const list = useInfiniteQuery(queries.activity(slug))
  usePageTitle(words.title)
  const entries = list.data?.pages.flatMap(({ items }) => items) ?? []
  const more = () => void list.fetchNextPage()
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      {list.isPending && <Skeleton rows={6} height="h-12" />}
      {list.error && !list.data && <LoadProblem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && entries.length === 0 && (
        <EmptyState title={words.emptyTitle}>
          <p>{words.emptyText}</p>
        </EmptyState>
      )}
      {entries.length > 0 && (
        <ol className="divide-y divide-stone-200 rounded-2xl border border-stone-200 bg-white shadow-xs dark:divide-stone-800 dark:border-stone-800 dark:bg-stone-900">
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
      {list.isFetchNextPageError && !list.isFetchingNextPage ? (
        <div className="mt-4">
          <LoadProblem error={list.error} onRetry={more} />
        </div>
      ) : (
        list.hasNextPage && (
          <div className="mt-4 text-center">
            <Button busy={list.isFetchingNextPage} onClick={more}>
              {words.more}
            </Button>
          </div>
        )
      )}
    </>
  )
}

function Entry({ entry }: { entry: Activity }) {
  return (
    <li className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1 px-5 py-3 text-sm">
      <span className="min-w-0 [overflow-wrap:anywhere]">
        <span className="font-medium">{actorOf(entry)}</span> <span className="text-stone-600 dark:text-stone-400">{deedOf(entry)}</span>{' '}
        {!isOfThemselves(entry) && <span className="font-medium">{inBothForms(entry.subject)}</span>} <Detail detail={entry.detail} />
      </span>
      <span className="text-stone-600 dark:text-stone-400">
        <Ago at={entry.at} />
      </span>
    </li>
  )
}

/** The new values that a change brought, where they are short enough to read. */
function Detail({ detail }: { detail: Record<string, unknown> }) {
  const shown = Object.entries(words.details).flatMap(([key, say]) => {
    const value = detail?.[key]
    return typeof value === 'string' ? [say(value)] : []
  })
  if (shown.length === 0) return null
  return <span className="text-stone-600 dark:text-stone-400">({shown.join(', ')})</span>
}

function deedOf(entry: Activity): string {
  if (entry.action === 'member.removed' && isOfThemselves(entry)) return words.left
  return words.actions[entry.action] ?? entry.action
}

/** Who joins or leaves is who did it: their address once is enough. */
function isOfThemselves({ actor, subject }: Activity): boolean {
  return actor.kind === 'user' && actor.email === subject
}

function actorOf({ actor }: Activity): string {
  if (actor.kind === 'user') return inBothForms(actor.email)
  return actor.kind === 'token' ? words.token(actor.name || actor.preview) : words.operator
}
