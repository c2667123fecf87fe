import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api.ts'
import { text } from '../strings.ts'
import { Button } from './button.tsx'
import { Card } from './card.tsx'
import { Field, TextArea } from './field.tsx'
import { Notice } from './notice.tsx'

const NOTE_CHARS_MAX = 1_000
const words = text.connect

/** Mails the instructions to whoever manages the customer's DNS. */
export function SendInstructions({ token }: { token: string }) {
  const [to, setTo] = useState('')
  const [note, setNote] = useState('')
  const [isInvalid, setInvalid] = useState(false)
  const mail = useMutation({
    mutationFn: (address: string) => api.connectMail(token, { to: address, ...(note.trim() !== '' && { note: note.trim() }) }),
    onSuccess() {
      setTo('')
      setNote('')
    },
  })
  return (
    <Card title={words.helpTitle}>
      <p className="text-sm text-stone-600 dark:text-stone-400">{words.helpText}</p>
      <form
        noValidate
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          const address = to.trim()
          setInvalid(!address.includes('@'))
          if (address.includes('@') && !mail.isPending) mail.mutate(address)
        }}
      >
        <Field
          label={words.helpTo}
          type="email"
          autoComplete="off"
          value={to}
          onChange={(event) => {
            setTo(event.target.value)
            setInvalid(false)
          }}
          error={isInvalid ? text.signIn.emailInvalid : mail.error?.message}
        />
        <TextArea
          label={words.helpNote}
          optional
          rows={2}
          maxLength={NOTE_CHARS_MAX}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
        {mail.isSuccess && <Notice kind="good">{words.helpSent(mail.variables)}</Notice>}
        <div>
          <Button type="submit" busy={mail.isPending}>
            {words.helpSend}
          </Button>
        </div>
      </form>
    </Card>
  )
}
