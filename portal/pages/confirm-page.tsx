import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { ApiProblem, api } from '../api.ts'
import { forgetAsking, hasAsked } from '../asked-links.ts'
import { OpenFrame } from '../components/app-frame.tsx'
import { Button, ButtonLink, Spinner } from '../components/button.tsx'
import { Dotted } from '../components/dotted.tsx'
import { LoadProblem, Notice } from '../components/notice.tsx'
import { useFragmentToken } from '../fragment-token.ts'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import { takePlace } from '../return-place.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'

const words = text.signIn

/** Where the link in the mail leads. */
export function ConfirmPage() {
  const token = useFragmentToken('#token=')
  usePageTitle(words.confirmTitle)
  return (
    <OpenFrame>
      <div className="mx-auto grid w-full max-w-sm gap-6 py-8 sm:py-16">
        {token === undefined ? <Failed>{words.missing}</Failed> : <LinkFollowed key={token} token={token} />}
      </div>
    </OpenFrame>
  )
}

/**
 * Spends the link at once where its own reader asked for it at this browser. Elsewhere it may be somebody else's link, who wants the reader to go on as
 * them, or it is a mail scanner that opens it: so it says whose it is, and a button spends it.
 */
function LinkFollowed({ token }: { token: string }) {
  const exchange = useExchange()
  const link = useQuery({ ...queries.signInLink(token), enabled: exchange.isIdle })
  const isSent = useRef(false)
  const email = link.data?.email
  const isOwn = email !== undefined && hasAsked(email)
  useEffect(() => {
    if (!isOwn || isSent.current) return // an effect may run twice, a link works once
    isSent.current = true
    exchange.mutate(token)
  }, [isOwn, token, exchange])
  const error = exchange.error ?? link.error
  if (error instanceof ApiProblem && error.code === 'magic_link_invalid') return <Failed>{error.message}</Failed>
  if (error) return <LoadProblem error={error} onRetry={() => (link.data ? exchange.mutate(token) : void link.refetch())} />
  if (link.data && !isOwn && exchange.isIdle) return <Asked {...link.data} onConfirm={() => exchange.mutate(token)} />
  return (
    <>
      <h1 className="sr-only">{words.confirmTitle}</h1>
      <p role="status" className="flex items-center gap-3 text-lg">
        <Spinner /> {isOwn || !exchange.isIdle ? words.confirming : text.common.loading}
      </p>
    </>
  )
}

function useExchange() {
  const client = useQueryClient()
  const navigate = useNavigate()
  const router = useRouter()
  return useMutation({
    mutationFn: api.confirmLink,
    async onSuccess(user) {
      forgetAsking()
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
}

function Asked({ email, signedInAs, onConfirm }: { email: string; signedInAs: string | undefined; onConfirm(): void }) {
  return (
    <>
      <div>
        <h1 className="text-xl font-semibold tracking-tight text-balance [overflow-wrap:anywhere]">
          <Dotted>{words.confirmAs(inBothForms(email))}</Dotted>
        </h1>
        <p className="mt-2 leading-relaxed text-stone-600 dark:text-stone-300">{words.confirmHint}</p>
      </div>
      {signedInAs !== undefined && signedInAs !== email && <Notice kind="warning">{words.confirmEnds(inBothForms(signedInAs))}</Notice>}
      <Button look="primary" size="large" onClick={onConfirm}>
        {words.confirm}
      </Button>
    </>
  )
}

function Failed({ children }: { children: ReactNode }) {
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">{words.failedTitle}</h1>
      <Notice kind="bad">{children}</Notice>
      <ButtonLink to="/sign-in" look="primary" size="large">
        {words.newLink}
      </ButtonLink>
    </>
  )
}
