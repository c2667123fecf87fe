import type { DomainStatus } from '../records.ts'
import { text } from '../strings.ts'

const LOOKS: Record<DomainStatus, [string, string]> = {
  'waiting-for-dns': ['bg-amber-100 text-amber-900 dark:bg-amber-950 dark:text-amber-200', 'bg-amber-500'],
  'wrong-record': ['bg-rose-100 text-rose-900 dark:bg-rose-950 dark:text-rose-200', 'bg-rose-600'],
  verified: ['bg-teal-100 text-teal-900 dark:bg-teal-950 dark:text-teal-200', 'bg-teal-600'],
  'certificate-pending': ['bg-sky-100 text-sky-900 dark:bg-sky-950 dark:text-sky-200', 'bg-sky-600 motion-safe:animate-pulse'],
  'certificate-failed': ['bg-rose-100 text-rose-900 dark:bg-rose-950 dark:text-rose-200', 'bg-rose-600'],
  live: ['bg-emerald-100 text-emerald-900 dark:bg-emerald-950 dark:text-emerald-200', 'bg-emerald-600'],
}

export function StatusBadge({ status }: { status: DomainStatus }) {
  const [colours, dot] = LOOKS[status] ?? LOOKS['waiting-for-dns']
  return (
    <Badge className={colours} title={text.status.meanings[status]}>
      <span aria-hidden="true" className={`size-1.5 shrink-0 rounded-full ${dot}`} />
      {text.status.labels[status] ?? status}
    </Badge>
  )
}

export function Badge({
  className = 'bg-stone-200 text-stone-800 dark:bg-stone-800 dark:text-stone-200',
  title,
  children,
}: {
  className?: string
  title?: string
  children: React.ReactNode
}) {
  return (
    <span
      title={title}
      className={`inline-flex items-center gap-1.5 rounded-full px-2.5 py-0.5 text-xs font-medium whitespace-nowrap ${className}`}
    >
      {children}
    </span>
  )
}
