import { Link, type LinkProps } from '@tanstack/react-router'
import type { ComponentProps, ReactNode } from 'react'

type Look = 'primary' | 'plain' | 'quiet' | 'danger'

const LOOKS: Record<Look, string> = {
  primary: 'bg-teal-700 text-white shadow-sm hover:bg-teal-800 dark:bg-teal-700 dark:hover:bg-teal-600',
  plain:
    'border border-stone-300 bg-white shadow-xs hover:bg-stone-100 dark:border-stone-700 dark:bg-stone-900 dark:text-stone-100 dark:hover:bg-stone-800',
  quiet: 'text-stone-700 hover:bg-stone-200/70 dark:text-stone-300 dark:hover:bg-stone-800',
  danger: 'bg-rose-700 text-white shadow-sm hover:bg-rose-800',
}
const BASE =
  'inline-flex cursor-pointer items-center justify-center gap-2 rounded-lg font-medium whitespace-nowrap transition-colors disabled:cursor-default disabled:opacity-60 aria-disabled:opacity-60'
const SIZES = { small: 'min-h-8 px-2.5 py-1 text-sm', normal: 'min-h-10 px-4 py-2 text-sm', large: 'min-h-12 px-5 py-3 text-base' }

type Shown = { look?: Look; size?: keyof typeof SIZES }

/** While `busy` it says so and takes no click, without changing its width much or losing the focus. */
export function Button({
  look = 'plain',
  size = 'normal',
  busy = false,
  className = '',
  children,
  ...rest
}: Shown & { busy?: boolean } & ComponentProps<'button'>) {
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : rest.onClick}
      className={`${BASE} ${SIZES[size]} ${LOOKS[look]} ${className}`}
    >
      {busy && <Spinner />}
      {children}
    </button>
  )
}

export function ButtonLink({ look = 'plain', size = 'normal', children, ...to }: Shown & LinkProps & { children: ReactNode }) {
  return (
    <Link {...to} className={`${BASE} ${SIZES[size]} ${LOOKS[look]}`}>
      {children}
    </Link>
  )
}

/** A link that leaves the portal's own screens. */
export function OuterLink({ look = 'plain', size = 'normal', href, children }: Shown & { href: string; children: ReactNode }) {
  return (
    <a href={href} className={`${BASE} ${SIZES[size]} ${LOOKS[look]} max-w-full whitespace-normal`}>
      {children}
    </a>
  )
}

export function Spinner() {
  return <span aria-hidden="true" className="size-3.5 shrink-0 animate-spin rounded-full border-2 border-current border-r-transparent" />
}
