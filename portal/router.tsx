import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router'
import { ApiProblem } from './api.ts'
import { Announcer } from './components/announcer.tsx'
import { PagePending } from './components/page-pending.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { PageCrash } from './pages/page-crash.tsx'
import { type DomainFilter, queries } from './queries.ts'
import { keepPlace } from './return-place.ts'

/** Every screen by its address, top to bottom; each is a file of its own, loaded when it is first gone to. */
export function createPortalRouter(client: QueryClient) {
  return createRouter({
    routeTree,
    context: { client },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 150,
    defaultPendingComponent: PagePending,
    defaultErrorComponent: PageCrash,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPortalRouter>
  }
}

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: () => (
    <>
      <Outlet />
      <Announcer />
    </>
  ),
})

const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/start-page.tsx'), 'StartPage'),
})
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { ended?: true } => (search.ended ? { ended: true } : {}),
  component: lazyRouteComponent(() => import('./pages/sign-in-page.tsx'), 'SignInPage'),
})
const confirm = createRoute({
  getParentRoute: () => root,
  path: '/sign-in/confirm',
  component: lazyRouteComponent(() => import('./pages/confirm-page.tsx'), 'ConfirmPage'),
})
const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  component: lazyRouteComponent(() => import('./pages/connect-page.tsx'), 'ConnectPage'),
})

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: lazyRouteComponent(() => import('./components/app-frame.tsx'), 'SignedInFrame'),
  async beforeLoad({ context, location }) {
    await context.client.ensureQueryData(queries.me()).catch((error: unknown) => {
      // Nobody with a session is limited here: whoever is told to wait has none either, and can sign in meanwhile.
      if (error instanceof ApiProblem && (error.status === 401 || error.code === 'rate_limited')) {
        keepPlace(location.href)
        throw redirect({ to: '/sign-in' })
      }
      throw error
    })
  },
})
const projects = createRoute({
  getParentRoute: () => signedIn,
  path: '/projects',
  component: lazyRouteComponent(() => import('./pages/projects-page.tsx'), 'ProjectsPage'),
})
const newProject = createRoute({
  getParentRoute: () => signedIn,
  path: '/new-project',
  component: lazyRouteComponent(() => import('./pages/new-project-page.tsx'), 'NewProjectPage'),
})

const project = createRoute({
  getParentRoute: () => signedIn,
  path: '/projects/$slug',
  component: lazyRouteComponent(() => import('./components/project-frame.tsx'), 'ProjectFrame'),
})
const domains = createRoute({
  getParentRoute: () => project,
  path: '/',
  validateSearch: ({ search, verified, order }: Record<string, unknown>): DomainFilter => ({
    ...(search !== undefined && search !== '' && { search: String(search) }),
    ...((String(verified) === 'true' || String(verified) === 'false') && { verified: String(verified) as 'true' | 'false' }),
    ...(order === 'oldest' && { order }),
  }),
  component: lazyRouteComponent(() => import('./pages/domains-page.tsx'), 'DomainsPage'),
})
const domain = createRoute({
  getParentRoute: () => project,
  path: '/domains/$hostname',
  component: lazyRouteComponent(() => import('./pages/domain-page.tsx'), 'DomainPage'),
})
const tokens = createRoute({
  getParentRoute: () => project,
  path: '/tokens',
  component: lazyRouteComponent(() => import('./pages/tokens-page.tsx'), 'TokensPage'),
})
const members = createRoute({
  getParentRoute: () => project,
  path: '/members',
  component: lazyRouteComponent(() => import('./pages/members-page.tsx'), 'MembersPage'),
})
const activity = createRoute({
  getParentRoute: () => project,
  path: '/activity',
  component: lazyRouteComponent(() => import('./pages/activity-page.tsx'), 'ActivityPage'),
})
const settings = createRoute({
  getParentRoute: () => project,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings-page.tsx'), 'SettingsPage'),
})

const routeTree = root.addChildren([
  start,
  signIn,
  confirm,
  connect,
  signedIn.addChildren([projects, newProject, project.addChildren([domains, domain, tokens, members, activity, settings])]),
])
