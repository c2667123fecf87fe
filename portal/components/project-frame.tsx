import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useParams } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { ApiProblem } from '../api.ts'
import { NotFoundContent } from '../pages/not-found-page.tsx'
import { useProjectNews } from '../project-news.ts'
import { queries } from '../queries.ts'
import { useSlug } from '../route-params.ts'
import { text } from '../strings.ts'
import { Skeleton } from './card.tsx'
import { LoadProblem } from './notice.tsx'

const TABS = [
  { to: '/projects/$slug', label: text.project.tabs.domains },
  { to: '/projects/$slug/tokens', label: text.project.tabs.tokens },
  { to: '/projects/$slug/members', label: text.project.tabs.members },
  { to: '/projects/$slug/activity', label: text.project.tabs.activity },
  { to: '/projects/$slug/settings', label: text.project.tabs.settings },
] as const

/** A project's name and tabs above its screens; a project that this session does not see is the 404 page. */
export function ProjectFrame() {
  const slug = useSlug()
  const project = useQuery(queries.project(slug))
  useProjectNews(slug)
  const tabs = useTabInView(project.isSuccess)
  if (project.error instanceof ApiProblem && project.error.status === 404) return <NotFoundContent />
  if (project.isPending) return <Skeleton rows={3} /> // what stands below would report the same problem in its own way
  return (
    <>
      <p className="min-h-7 truncate text-lg font-semibold tracking-tight">{project.data?.name ?? ''}</p>
      <nav
        ref={tabs}
        aria-label={text.frame.projectNav}
        className="scroll-hint -mx-4 mt-3 mb-6 overflow-x-auto border-b border-stone-200 px-4 sm:mx-0 sm:px-0 dark:border-stone-800"
      >
        <ul className="flex gap-1">
          {TABS.map(({ to, label }) => (
            <li key={to}>
              <Tab to={to} slug={slug} label={label} />
            </li>
          ))}
        </ul>
      </nav>
      {project.error && !project.data ? <LoadProblem error={project.error} onRetry={() => void project.refetch()} /> : <Outlet />}
    </>
  )
}

/** On a narrow screen the tabs scroll: the one of this page is brought into view. */
function useTabInView(isShown: boolean) {
  const tabs = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another tab, and there are none at first
  useEffect(() => {
    const current = tabs.current?.querySelector<HTMLElement>('[aria-current=page]')
    if (current) tabs.current!.scrollLeft = current.offsetLeft - (tabs.current!.clientWidth - current.offsetWidth) / 2
  }, [pathname, isShown])
  return tabs
}

// A domain's page lies below another address than the list, and belongs to the same tab.
function Tab({ to, slug, label }: { to: (typeof TABS)[number]['to']; slug: string; label: string }) {
  const isDomain = useParams({ strict: false }).hostname !== undefined && to === '/projects/$slug'
  return (
    <Link
      to={to}
      params={{ slug }}
      {...(isDomain && { 'aria-current': 'page' as const })}
      activeOptions={{ exact: to === '/projects/$slug', includeSearch: false }}
      className="block border-b-2 border-transparent px-3 py-2.5 text-sm whitespace-nowrap text-stone-600 -outline-offset-2 hover:text-stone-950 aria-[current=page]:border-teal-700 aria-[current=page]:font-medium aria-[current=page]:text-stone-950 dark:text-stone-400 dark:hover:text-white dark:aria-[current=page]:border-teal-400 dark:aria-[current=page]:text-white"
    >
      {label}
    </Link>
  )
}
