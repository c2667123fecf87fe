import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { memo, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { isWildcard } from '../dns-names.ts'
import type { Domain } from '../records.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { StatusBadge } from './status-badge.tsx'
import { Ago } from './time.tsx'

const ROW_PX = 57
const NARROW_ROW_PX = 77
const NARROW = '(width < 40rem)'
const ROWS_BEYOND = 12
const LOAD_WITHIN_ROWS = 30
const COLUMNS = 'grid content-center items-center gap-x-4 gap-y-1.5 px-4 sm:grid-cols-[minmax(0,1fr)_11rem_9rem_9rem] sm:px-5'

type Props = {
  slug: string
  domains: readonly Domain[]
  /** How many there are in all, where that is known. */
  total: number | undefined
  hasMore: boolean
  isLoadingMore: boolean
  /** Asks for the next page; undefined while nobody is to ask, since the last attempt failed. */
  onMore: (() => void) | undefined
}

/** The rows near the window, and none of the others; the next page is asked for before its first row is reached. */
export function DomainList({ slug, domains, total, hasMore, isLoadingMore, onMore }: Props) {
  const body = useRef<HTMLDivElement>(null)
  const rowPx = useNarrowWindow() ? NARROW_ROW_PX : ROW_PX
  const [offset, setOffset] = useState(0)
  useEffect(() => {
    if (body.current) setOffset(body.current.getBoundingClientRect().top + window.scrollY)
  }, [])
  const rows = useWindowVirtualizer({
    count: domains.length,
    estimateSize: () => rowPx,
    overscan: ROWS_BEYOND,
    scrollMargin: offset,
    getItemKey: (index) => domains[index]!.hostname,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows are measured anew when their height changes
  useEffect(() => rows.measure(), [rowPx])
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= domains.length - LOAD_WITHIN_ROWS) onMore?.()
  }, [hasMore, isLoadingMore, last, domains.length, onMore])
  return (
    <div
      role="table"
      aria-label={text.domains.title}
      aria-rowcount={hasMore ? (total === undefined ? -1 : total + 1) : domains.length + 1}
      className="overflow-hidden rounded-2xl border border-stone-200 bg-white shadow-xs dark:border-stone-800 dark:bg-stone-900"
    >
      <div role="rowgroup" className="border-b border-stone-200 dark:border-stone-800">
        <div role="row" aria-rowindex={1} className={`${COLUMNS} min-h-10 text-xs font-medium text-stone-600 dark:text-stone-400`}>
          <span role="columnheader">{text.domains.columns.hostname}</span>
          <span role="columnheader" className="hidden sm:block">
            {text.domains.columns.status}
          </span>
          <span role="columnheader" className="hidden sm:block">
            {text.domains.columns.verified}
          </span>
          <span role="columnheader" className="hidden sm:block">
            {text.domains.columns.added}
          </span>
        </div>
      </div>
      <div ref={body} role="rowgroup" className="relative" style={{ height: rows.getTotalSize() }}>
        {shown.map(({ index, start }) => (
          <Row
            key={domains[index]!.hostname}
            slug={slug}
            domain={domains[index]!}
            rowIndex={index + 2}
            top={start - offset}
            height={rowPx}
          />
        ))}
      </div>
      {isLoadingMore && (
        <p role="status" className="px-5 py-4 text-sm text-stone-600 dark:text-stone-400">
          {text.domains.more}
        </p>
      )}
    </div>
  )
}

type RowProps = { slug: string; domain: Domain; rowIndex: number; top: number; height: number }

// What stays in sight while the window scrolls is not drawn anew.
const Row = memo(function Row({ slug, domain, rowIndex, top, height }: RowProps) {
  const name = inBothForms(domain.hostname) // cut off at its end, it is what the DNS has
  const small = 'hidden text-sm text-stone-600 tabular-nums sm:block dark:text-stone-400'
  return (
    <div
      role="row"
      aria-rowindex={rowIndex}
      style={{ height, transform: `translateY(${top}px)` }}
      className={`${COLUMNS} absolute inset-x-0 top-0 border-b border-stone-200 last:border-b-0 focus-within:bg-stone-50 hover:bg-stone-50 dark:border-stone-800 dark:focus-within:bg-stone-800/50 dark:hover:bg-stone-800/50`}
    >
      <span role="cell" className="flex min-w-0 items-baseline gap-2">
        <Link
          to="/projects/$slug/domains/$hostname"
          params={{ slug, hostname: domain.hostname }}
          title={name}
          className="block truncate rounded text-sm font-medium after:absolute after:inset-0"
        >
          {name}
        </Link>
        {isWildcard(domain.hostname) && <span className="text-xs text-stone-600 dark:text-stone-400">{text.domains.wildcard}</span>}
      </span>
      <span role="cell" className="flex">
        <StatusBadge status={domain.status} />
      </span>
      <span role="cell" className={small}>
        {domain.verifiedAt ? <Ago at={domain.verifiedAt} /> : text.common.none}
      </span>
      <span role="cell" className={small}>
        <Ago at={domain.createdAt} />
      </span>
    </div>
  )
})

function useNarrowWindow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(NARROW)
      query.addEventListener('change', listener)
      return () => query.removeEventListener('change', listener)
    },
    () => matchMedia(NARROW).matches,
  )
}
