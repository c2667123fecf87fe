import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { api } from '../api.ts'
import { OpenFrame } from '../components/app-frame.tsx'
import { ButtonLink, Spinner } from '../components/button.tsx'
import { Notice } from '../components/notice.tsx'
import { useFragmentToken } from '../fragment-token.ts'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import { takePlace } from '../return-place.ts'
import { text } from '../strings.ts'

/** Where the link in the mail leads: spends it with a POST, so that a mail scanner that merely opens the page spends nothing. */
export function ConfirmPage() {
  const token = useFragmentToken()
  const client = useQueryClient()
  const navigate = useNavigate()
  const router = useRouter()
  const isSent = useRef(false)
  const exchange = useMutation({
    mutationFn: api.confirmLink,
    async onSuccess(user) {
      client.clear()
      client.setQueryData(queries.me().queryKey, user)
      const place = takePlace()
      if (place) return router.history.replace(place)
      const only = user.projects.length === 1 ? user.projects[0] : undefined
      await (only
        ? navigate({ to: '/projects/$slug', params: { slug: only.slug }, replace: true })
        : navigate({ to: '/projects', replace: true }))
    },
  })
  useEffect(() => {
    if (token === undefined || isSent.current) return // an effect may run twice, a link works once
    isSent.current = true
    exchange.mutate(token)
  }, [token, exchange])
  usePageTitle(text.signIn.confirmTitle)
  const problem = token === undefined ? text.signIn.missing : exchange.error?.message
  return (
    <OpenFrame>
      <div className="mx-auto grid w-full max-w-sm gap-6 py-8 sm:py-16">
        {problem === undefined ? (
          <>
            <h1 className="sr-only">{text.signIn.confirmTitle}</h1>
            <p role="status" className="flex items-center gap-3 text-lg">
              <Spinner /> {text.signIn.confirming}
            </p>
          </>
        ) : (
          <>
            <h1 className="text-2xl font-semibold tracking-tight">{text.signIn.failedTitle}</h1>
            <Notice kind="bad">{problem}</Notice>
            <ButtonLink to="/sign-in" look="primary" size="large">
              {text.signIn.newLink}
            </ButtonLink>
          </>
        )}
      </div>
    </OpenFrame>
  )
}
