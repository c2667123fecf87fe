import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { api } from '../api.ts'
import { queries } from '../queries.ts'
import { text } from '../strings.ts'
import { chooseTheme, readTheme, type Theme } from '../theme.ts'
import { inBothForms } from '../unicode-name.ts'
import { toast } from './announcer.tsx'
import { Button } from './button.tsx'

const LINK = 'rounded-md px-2 py-1.5 text-stone-700 hover:bg-stone-200/70 dark:text-stone-300 dark:hover:bg-stone-800'
const CONTENT_ID = 'content'

/** What every screen of the portal stands in: skip link, name, the way to the reference, colours, and the content. */
export function Frame({ nav, children, wide = false }: { nav?: ReactNode; children: ReactNode; wide?: boolean }) {
  const width = wide ? 'max-w-6xl' : 'max-w-5xl'
  return (
    <div data-frame="" className="flex min-h-svh flex-col bg-stone-50 text-stone-900 antialiased dark:bg-stone-950 dark:text-stone-100">
      <a
        href={`#${CONTENT_ID}`}
        className="sr-only z-50 rounded-lg bg-teal-700 px-4 py-2 text-white focus:not-sr-only focus:fixed focus:top-3 focus:left-3"
      >
        {text.common.skip}
      </a>
      <header className="border-b border-stone-200 bg-white dark:border-stone-800 dark:bg-stone-900">
        <div className={`mx-auto flex min-h-14 w-full flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 py-1.5 sm:px-6 ${width}`}>
          <Link to="/" className="flex items-center gap-2.5 rounded font-semibold tracking-tight">
            <img src="/icon.svg" alt="" width="28" height="28" />
            <span className="max-[359px]:sr-only">{text.product}</span>
          </Link>
          <nav aria-label={text.frame.mainNav} className="flex flex-wrap items-center gap-1 text-sm">
            {nav}
          </nav>
        </div>
      </header>
      <main id={CONTENT_ID} tabIndex={-1} className={`mx-auto w-full flex-1 px-4 pt-6 pb-16 outline-none sm:px-6 sm:pt-8 ${width}`}>
        {children}
      </main>
      <footer className={`mx-auto flex w-full flex-wrap items-center justify-between gap-3 px-4 py-6 text-sm sm:px-6 ${width}`}>
        <a href="/v1/docs" className={`${LINK} -ml-2`}>
          {text.frame.reference}
        </a>
        <ThemeChoice />
      </footer>
    </div>
  )
}

/** The frame of whoever is not signed in, or need not be. */
export function OpenFrame({ children, wide }: { children: ReactNode; wide?: boolean }) {
  const nav = (
    <Link to="/projects" className={LINK}>
      {text.frame.signIn}
    </Link>
  )
  return (
    <Frame nav={nav} {...(wide && { wide })}>
      {children}
    </Frame>
  )
}

/** The frame of whoever is signed in. */
export function SignedInFrame() {
  const me = useQuery(queries.me())
  const client = useQueryClient()
  const navigate = useNavigate()
  const [isLeaving, setLeaving] = useState(false)
  const signOut = async () => {
    setLeaving(true)
    try {
      await api.signOut()
      await navigate({ to: '/sign-in' })
      client.clear()
    } catch (error) {
      toast((error as Error).message)
    } finally {
      setLeaving(false)
    }
  }
  const nav = (
    <>
      <Link to="/projects" className={LINK}>
        {text.frame.projects}
      </Link>
      {me.data && (
        <span
          title={text.frame.signedInAs(inBothForms(me.data.email))}
          className="text-stone-600 max-md:relative max-md:right-3.5 max-md:order-last max-md:w-0 max-md:min-w-full max-md:text-right max-md:text-xs max-md:[overflow-wrap:anywhere] md:max-w-60 md:truncate md:px-2 dark:text-stone-400"
        >
          {inBothForms(me.data.email)}
        </span>
      )}
      <Button look="quiet" size="small" busy={isLeaving} onClick={() => void signOut()}>
        {text.frame.signOut}
      </Button>
    </>
  )
  return (
    <Frame nav={nav}>
      <Outlet />
    </Frame>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(readTheme)
  return (
    <label className="flex items-center gap-2 text-stone-600 dark:text-stone-400">
      {text.frame.themeLabel}
      <select
        value={theme}
        onChange={(event) => {
          const chosen = event.target.value as Theme
          chooseTheme(chosen)
          setTheme(chosen)
        }}
        className="rounded-md border border-stone-300 bg-transparent px-2 py-1 text-stone-800 dark:border-stone-700 dark:bg-stone-900 dark:text-stone-200"
      >
        {(['system', 'light', 'dark'] as const).map((one) => (
          <option key={one} value={one}>
            {text.frame.themes[one]}
          </option>
        ))}
      </select>
    </label>
  )
}
