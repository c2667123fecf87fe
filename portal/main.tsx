import './portal.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProblem } from './api.ts'
import { keepDrafts } from './kept-drafts.ts'
import { createQueryClient, queries } from './queries.ts'
import { keepPlace } from './return-place.ts'
import { createPortalRouter } from './router.tsx'

const client = createQueryClient(leaveWhenSignedOut)
const router = createPortalRouter(client)

/** Whoever's session has ended signs in again, and goes on with what they had typed; what the cache held belonged to the session. */
function leaveWhenSignedOut(error: Error): void {
  const me = client.getQueryData(queries.me().queryKey)
  if (!(error instanceof ApiProblem && error.code === 'session_required') || !me) return
  keepDrafts(me.email)
  client.clear()
  keepPlace(router.state.location.href)
  void router.navigate({ to: '/sign-in', search: { ended: true } })
}

// What was pressed goes with its screen: whoever reads by keyboard or by ear goes on with the next one, not with the header once more.
router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
  if (fromLocation && pathChanged && document.activeElement === document.body)
    document.querySelector('main')?.focus({ preventScroll: true })
})

createRoot(document.getElementById('portal')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
