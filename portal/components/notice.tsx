import type { ReactNode } from 'react'
import { text } from '../strings.ts'
import { Button } from './button.tsx'

const LOOKS = {
  good: 'border-emerald-300 bg-emerald-50 text-emerald-950 dark:border-emerald-800 dark:bg-emerald-950/60 dark:text-emerald-100',
  warning: 'border-amber-300 bg-amber-50 text-amber-950 dark:border-amber-800 dark:bg-amber-950/50 dark:text-amber-100',
  bad: 'border-rose-300 bg-rose-50 text-rose-950 dark:border-rose-800 dark:bg-rose-950/50 dark:text-rose-100',
  plain: 'border-stone-300 bg-stone-100 dark:border-stone-700 dark:bg-stone-900',
}

/** A sentence that matters now. What is bad is announced at once, the rest in its turn. */
export function Notice({ kind, title, children }: { kind: keyof typeof LOOKS; title?: string; children: ReactNode }) {
  return (
    <div
      role={kind === 'bad' ? 'alert' : 'status'}
      className={`grid gap-1 rounded-xl border px-4 py-3 text-sm leading-relaxed [overflow-wrap:anywhere] ${LOOKS[kind]}`}
    >
      {title && <p className="font-semibold">{title}</p>}
      <div>{children}</div>
    </div>
  )
}

/** In the place of what could not be loaded. */
export function LoadProblem({ error, onRetry }: { error: Error; onRetry(): void }) {
  return (
    <div className="grid justify-items-start gap-3">
      <Notice kind="bad" title={text.problems.heading}>
        {error.message}
      </Notice>
      <Button onClick={onRetry}>{text.common.retry}</Button>
    </div>
  )
}
