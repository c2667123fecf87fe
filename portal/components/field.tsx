import { type ComponentProps, type ReactNode, useId } from 'react'
import { text } from '../strings.ts'

const INPUT =
  'w-full rounded-lg border border-stone-400/80 bg-white px-3 py-2 text-base sm:text-sm shadow-xs placeholder:text-stone-500 aria-invalid:border-rose-600 dark:border-stone-600 dark:bg-stone-900 dark:placeholder:text-stone-400'

type Shown = { label: string; hint?: ReactNode | undefined; error?: string | undefined; optional?: boolean }

/** A labelled line of text. `error` is announced, and tied to the input. */
export function Field({ label, hint, error, optional, ...rest }: Shown & ComponentProps<'input'>) {
  return (
    <Labelled {...{ label, hint, error, optional }}>
      {(ids) => <input {...rest} {...ids} className={`${INPUT} min-h-10 ${rest.className ?? ''}`} />}
    </Labelled>
  )
}

export function TextArea({ label, hint, error, optional, ...rest }: Shown & ComponentProps<'textarea'>) {
  return (
    <Labelled {...{ label, hint, error, optional }}>
      {(ids) => <textarea {...rest} {...ids} className={`${INPUT} ${rest.className ?? ''}`} />}
    </Labelled>
  )
}

/** The system's own select: it works with every keyboard, screen reader and phone. */
export function Select({ label, hint, error, children, ...rest }: Shown & ComponentProps<'select'>) {
  return (
    <Labelled {...{ label, hint, error }}>
      {(ids) => (
        <select {...rest} {...ids} className={`${INPUT} min-h-10 ${rest.className ?? ''}`}>
          {children}
        </select>
      )}
    </Labelled>
  )
}

/** A select whose label only a screen reader needs. */
export function BareSelect({ label, children, className = '', ...rest }: { label: string } & ComponentProps<'select'>) {
  return (
    <select aria-label={label} {...rest} className={`${INPUT.replace('w-full', '')} min-h-10 ${className}`}>
      {children}
    </select>
  )
}

type Ids = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }

function Labelled({ label, hint, error, optional, children }: Shown & { optional?: boolean | undefined; children(ids: Ids): ReactNode }) {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label} {optional && <span className="font-normal text-stone-600 dark:text-stone-400">{text.common.optional}</span>}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': error ? true : undefined })}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-sm text-rose-700 dark:text-rose-400">
          {error}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="text-sm text-stone-600 dark:text-stone-400">
          {hint}
        </p>
      )}
    </div>
  )
}
