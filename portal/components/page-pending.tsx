import { text } from '../strings.ts'
import { Skeleton } from './card.tsx'

/** While a screen's code or its session is on the way. */
export function PagePending() {
  return (
    <div role="status" className="mx-auto w-full max-w-5xl px-4 py-10 sm:px-6">
      <span className="sr-only">{text.common.loading}</span>
      <Skeleton rows={3} />
    </div>
  )
}
