import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ButtonLink } from '../components/button.tsx'
import { EmptyState, PageHead, Skeleton } from '../components/card.tsx'
import { LoadProblem } from '../components/notice.tsx'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import type { Project } from '../records.ts'
import { text } from '../strings.ts'

export function ProjectsPage() {
  usePageTitle(text.projects.title)
  const projects = useQuery(queries.projects())
  const create = (
    <ButtonLink to="/new-project" look="primary">
      {text.projects.create}
    </ButtonLink>
  )
  return (
    <>
      <PageHead title={text.projects.title}>{projects.data && projects.data.length > 0 && create}</PageHead>
      {projects.isPending && <Skeleton rows={3} height="h-20" />}
      {projects.error && !projects.data && <LoadProblem error={projects.error} onRetry={() => void projects.refetch()} />}
      {projects.data?.length === 0 && (
        <EmptyState title={text.projects.emptyTitle} action={create}>
          <p>{text.projects.emptyText}</p>
          <p className="text-sm">{text.projects.emptyInvited}</p>
        </EmptyState>
      )}
      <ul className="grid gap-3">
        {projects.data?.map((project) => (
          <ProjectRow key={project.slug} project={project} />
        ))}
      </ul>
    </>
  )
}

function ProjectRow({ project }: { project: Project }) {
  return (
    <li>
      <Link
        to="/projects/$slug"
        params={{ slug: project.slug }}
        className="flex flex-wrap items-center justify-between gap-x-6 gap-y-1 rounded-2xl border border-stone-200 bg-white px-5 py-4 shadow-xs transition-colors hover:border-stone-400 dark:border-stone-800 dark:bg-stone-900 dark:hover:border-stone-600"
      >
        <span className="min-w-0">
          <span className="block font-medium break-words">{project.name}</span>
          <span className="block font-mono text-sm break-all text-stone-600 dark:text-stone-400">{project.upstreamUrl}</span>
        </span>
        <span className="flex gap-4 text-sm text-stone-600 dark:text-stone-400">
          <span>{text.projects.domains(project.domains)}</span>
          <span>{text.projects.roles[project.role]}</span>
        </span>
      </Link>
    </li>
  )
}
