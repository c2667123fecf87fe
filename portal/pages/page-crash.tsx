import type { ErrorComponentProps } from '@tanstack/react-router'
import { ApiProblem } from '../api.ts'
import { Button } from '../components/button.tsx'
import { Notice } from '../components/notice.tsx'
import { text } from '../strings.ts'

/** In the place of a screen that failed to load or to draw. */
export function PageCrash({ error }: ErrorComponentProps) {
  return (
    <div className="mx-auto grid w-full max-w-lg justify-items-start gap-4 px-4 py-16 text-stone-900 dark:text-stone-100">
      <Notice kind="bad" title={error instanceof ApiProblem ? text.problems.heading : text.problems.crashed}>
        {error instanceof ApiProblem ? error.message : text.problems.crashedText}
      </Notice>
      <Button onClick={() => window.location.reload()}>{text.problems.reload}</Button>
    </div>
  )
}
