import { useMutation } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiProblem, api } from '../api.ts'
import { rememberAsking } from '../asked-links.ts'
import { OpenFrame } from '../components/app-frame.tsx'
import { Button, OuterLink } from '../components/button.tsx'
import { Field } from '../components/field.tsx'
import { Notice } from '../components/notice.tsx'
import { usePageTitle } from '../page-title.ts'
import { text } from '../strings.ts'

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$|^[^\s@]+@localhost$/

/** One address, then "check your mail": the answer is the same whether or not the address is known. */
export function SignInPage() {
  const { ended } = useSearch({ from: '/sign-in' })
  const [email, setEmail] = useState('')
  const request = useMutation({ mutationFn: api.requestLink, onMutate: rememberAsking })
  usePageTitle(request.isSuccess ? text.signIn.sentTitle : text.signIn.title)
  return (
    <OpenFrame>
      <div className="mx-auto grid w-full max-w-sm gap-6 py-8 sm:py-16">
        {ended && request.isIdle && <Notice kind="plain">{text.signIn.ended}</Notice>}
        {request.isSuccess ? (
          <Sent email={email.trim()} inbox={request.data.inbox} onAgain={() => request.reset()} />
        ) : (
          <SignInForm
            {...{ email, setEmail }}
            busy={request.isPending}
            error={request.error}
            onSend={(address) => request.mutate(address)}
          />
        )}
      </div>
    </OpenFrame>
  )
}

type FormProps = { email: string; setEmail(email: string): void; busy: boolean; error: Error | null; onSend(email: string): void }

function SignInForm({ email, setEmail, busy, error, onSend }: FormProps) {
  const [isInvalid, setInvalid] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const address = email.trim()
    setInvalid(!EMAIL.test(address))
    if (EMAIL.test(address)) onSend(address)
  }
  return (
    <>
      <div>
        <h1 className="text-2xl font-semibold tracking-tight">{text.signIn.title}</h1>
        <p className="mt-2 text-stone-600 dark:text-stone-300">{text.signIn.lead}</p>
      </div>
      <form onSubmit={submit} noValidate className="grid gap-4">
        <Field
          label={text.signIn.email}
          type="email"
          name="email"
          autoComplete="email"
          placeholder={text.signIn.emailHint}
          value={email}
          onChange={(event) => {
            setEmail(event.target.value)
            setInvalid(false)
          }}
          error={isInvalid ? text.signIn.emailInvalid : undefined}
        />
        {error && (
          <Notice kind="bad">
            {error.message} {error instanceof ApiProblem && error.code === 'rate_limited' && text.signIn.limitedHint}
          </Notice>
        )}
        <Button type="submit" look="primary" size="large" busy={busy}>
          {text.signIn.send}
        </Button>
      </form>
    </>
  )
}

function Sent({ email, inbox, onAgain }: { email: string; inbox: string | undefined; onAgain(): void }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <>
      <div>
        <h1 ref={heading} tabIndex={-1} className="text-2xl font-semibold tracking-tight outline-none">
          {text.signIn.sentTitle}
        </h1>
        <p className="mt-2 leading-relaxed break-words text-stone-600 dark:text-stone-300">{text.signIn.sentLead(email)}</p>
        {!inbox && <p className="mt-2 text-stone-600 dark:text-stone-300">{text.signIn.sentHint}</p>}
      </div>
      {inbox && (
        <div className="grid gap-3">
          <OuterLink look="primary" size="large" href={inbox}>
            {text.signIn.inbox}
          </OuterLink>
          <p className="text-sm text-stone-600 dark:text-stone-400">{text.signIn.inboxHint}</p>
        </div>
      )}
      <Button look="quiet" className="-ml-4 justify-self-start" onClick={onAgain}>
        {text.signIn.again}
      </Button>
    </>
  )
}
