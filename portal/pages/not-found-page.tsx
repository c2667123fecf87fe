import { OpenFrame } from '../components/app-frame.tsx'
import { ButtonLink } from '../components/button.tsx'
import { usePageTitle } from '../page-title.ts'
import { text } from '../strings.ts'

export function NotFoundPage() {
  return (
    <OpenFrame>
      <NotFoundContent />
    </OpenFrame>
  )
}

/** A project that one was invited to after signing in is not seen until the next sign-in: so the way there is a fresh link. */
export function NotFoundContent() {
  usePageTitle(text.notFound.title)
  return (
    <div className="mx-auto grid max-w-lg justify-items-start gap-4 py-12 sm:py-20">
      <p className="text-sm font-medium text-teal-800 dark:text-teal-400">404</p>
      <h1 className="text-2xl font-semibold tracking-tight">{text.notFound.heading}</h1>
      <p className="leading-relaxed text-stone-600 dark:text-stone-300">{text.notFound.text}</p>
      <p className="leading-relaxed text-stone-600 dark:text-stone-300">{text.notFound.fresh}</p>
      <div className="mt-2 flex flex-wrap gap-3">
        <ButtonLink to="/sign-in" look="primary">
          {text.notFound.freshLink}
        </ButtonLink>
        <ButtonLink to="/projects">{text.notFound.home}</ButtonLink>
      </div>
    </div>
  )
}
