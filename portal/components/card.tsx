import { type ReactNode, useId } from 'react'

/** A part of a page, with its own heading. */
export function Card({
  title,
  aside,
  children,
  tone = 'plain',
}: {
  title: string
  aside?: ReactNode
  children: ReactNode
  tone?: 'plain' | 'danger'
}) {
  const id = useId()
  const border = tone === 'danger' ? 'border-rose-300 dark:border-rose-900' : 'border-stone-200 dark:border-stone-800'
  return (
    <section
      aria-labelledby={id}
      className={`min-w-0 rounded-2xl border bg-white [overflow-wrap:anywhere] p-4 shadow-xs sm:p-6 dark:bg-stone-900 ${border}`}
    >
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h2 id={id} className="text-base font-semibold">
          {title}
        </h2>
        {aside}
      </div>
      <div className="mt-4 grid grid-cols-1 gap-4">{children}</div>
    </section>
  )
}

/** A page's heading with its deeds beside it. */
export function PageHead({ title, lead, children }: { title: string; lead?: string; children?: ReactNode }) {
  return (
    <div className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
      <div className="min-w-0">
        <h1 className="text-xl font-semibold tracking-tight break-words">{title}</h1>
        {lead && <p className="mt-1.5 max-w-prose text-sm leading-relaxed text-stone-600 dark:text-stone-400">{lead}</p>}
      </div>
      {children && <div className="flex flex-wrap gap-2">{children}</div>}
    </div>
  )
}

/** What a page shows instead of nothing: what belongs here, and the first step. */
export function EmptyState({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="grid justify-items-center gap-3 rounded-2xl border border-dashed border-stone-300 px-5 py-12 text-center dark:border-stone-700">
      <h2 className="text-lg font-semibold">{title}</h2>
      <div className="grid max-w-prose justify-items-center gap-3 leading-relaxed text-pretty text-stone-600 dark:text-stone-300">
        {children}
      </div>
      {action && <div className="mt-3">{action}</div>}
    </div>
  )
}

/** Names and values, as of a certificate. Rows without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid gap-x-6 gap-y-2 text-sm sm:grid-cols-[max-content_1fr]">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name} className="sm:contents">
            <dt className="text-stone-600 dark:text-stone-400">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Grey bars in the shape of what comes, so that nothing jumps. */
export function Skeleton({ rows = 4, height = 'h-14' }: { rows?: number; height?: string }) {
  return (
    <div aria-hidden="true" className="grid animate-pulse gap-2">
      {Array.from({ length: rows }, (_, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars have no other identity
        <div key={n} className={`rounded-xl bg-stone-200/70 dark:bg-stone-800/60 ${height}`} />
      ))}
    </div>
  )
}
