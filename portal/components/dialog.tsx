import { Dialog as Radix } from 'radix-ui'
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { text } from '../strings.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Notice } from './notice.tsx'

type DialogProps = { title: string; description?: string | undefined; onClose(): void; children: ReactNode; wide?: boolean }

/**
 * What asks for an answer above the page; Escape and a press beside it close it, and the focus goes back to where it was. Without
 * Radix' Overlay, whose scroll lock needs a style element that the Content-Security-Policy refuses: see portal.css.
 */
export function Dialog({ title, description, onClose, children, wide }: DialogProps) {
  // Before the page becomes inert, which takes the focus away from it.
  const [opener] = useState(() => document.activeElement as HTMLElement | null)
  useEffect(() => {
    const page = document.querySelector<HTMLElement>('[data-frame]')
    if (page) page.inert = true
    return () => {
      if (page) page.inert = false
    }
  }, [])
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <div data-dialog="" className="fixed inset-0 z-40 grid place-items-start overflow-y-auto bg-stone-950/50 p-4 sm:place-items-center">
          <Radix.Content
            onCloseAutoFocus={(event) => {
              event.preventDefault()
              opener?.focus()
            }}
            {...(description === undefined && { 'aria-describedby': undefined })}
            className={`w-full animate-appear justify-self-center rounded-2xl border border-stone-200 bg-white p-5 [overflow-wrap:anywhere] text-stone-900 shadow-xl sm:p-6 dark:border-stone-700 dark:bg-stone-900 dark:text-stone-100 ${wide ? 'max-w-2xl' : 'max-w-lg'}`}
          >
            <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
            {description !== undefined && (
              <Radix.Description className="mt-2 text-sm leading-relaxed text-stone-600 dark:text-stone-300">
                {description}
              </Radix.Description>
            )}
            <div className="mt-4">{children}</div>
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** The row of buttons that a dialog ends with; on a phone they stand above each other, the deed on top. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className="mt-6 flex flex-col-reverse gap-2 sm:flex-row sm:justify-end">{children}</div>
}

type DraftProps = { draft: { isRestored: boolean; revert(): void }; onClose(): void; children: ReactNode }

/** As DialogButtons, where something is typed: Cancel alone gives that up, and what else closes the dialog keeps it for the next time. */
export function DraftButtons({ draft, onClose, children }: DraftProps) {
  const cancel = () => {
    draft.revert()
    onClose()
  }
  return (
    <>
      {draft.isRestored && <Notice kind="warning">{text.common.typedBefore}</Notice>}
      <DialogButtons>
        <Button onClick={cancel}>{text.common.cancel}</Button>
        {children}
      </DialogButtons>
    </>
  )
}

type ConfirmProps = {
  title: string
  description: string
  action: string
  /** What must be typed before the deed; none where it is easily mended. */
  typed?: string
  busy: boolean
  error?: Error | null
  onConfirm(): void
  onClose(): void
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ title, description, action, typed, busy, error, onConfirm, onClose }: ConfirmProps) {
  const [value, setValue] = useState('')
  const isReady = typed === undefined || value.trim() === typed
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isReady && !busy) onConfirm()
  }
  return (
    <Dialog title={title} description={description} onClose={onClose}>
      <form onSubmit={submit} className="grid gap-4">
        {typed !== undefined && (
          <Field
            label={text.common.typeToConfirm(typed)}
            value={value}
            onChange={(event) => setValue(event.target.value)}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        )}
        {error && <Notice kind="bad">{error.message}</Notice>}
        <DialogButtons>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button type="submit" look="danger" busy={busy} disabled={!isReady}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
