import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'
import { type Health, readHealth } from '../api.ts'

const LINK = 'rounded text-stone-600 underline-offset-4 hover:text-stone-950 hover:underline dark:text-stone-300 dark:hover:text-white'

/** What every screen stands in: the name, the way to the reference, the content, and whether the service answers. */
export function PageFrame({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-h-svh flex-col bg-stone-50 text-stone-900 antialiased dark:bg-stone-950 dark:text-stone-100">
      <header className="mx-auto flex w-full max-w-6xl items-center justify-between gap-4 px-5 py-5 sm:px-8">
        <a href="/" className="flex items-center gap-2.5 rounded text-lg font-semibold tracking-tight">
          <img src="/icon.svg" alt="" className="size-7" />
          Namesake
        </a>
        <nav aria-label="Reference" className="text-sm">
          <a href="/v1/docs" className={LINK}>
            API reference
          </a>
        </nav>
      </header>
      <main className="mx-auto w-full max-w-6xl flex-1 px-5 sm:px-8">{children}</main>
      <footer className="mx-auto flex w-full max-w-6xl flex-wrap items-center justify-between gap-3 px-5 py-8 text-sm sm:px-8">
        <HealthLine />
        <a href="/v1/openapi.json" className={LINK}>
          OpenAPI 3.1 description
        </a>
      </footer>
    </div>
  )
}

const HEALTH = {
  unknown: { colour: 'bg-stone-400', text: 'Asking the service…' },
  up: { colour: 'bg-emerald-500', text: 'The service is up' },
  down: { colour: 'bg-rose-500', text: 'The service does not answer' },
}

function HealthLine() {
  const [health, setHealth] = useState<Health>()
  useEffect(() => {
    void readHealth().then(setHealth)
  }, [])
  const { colour, text } = HEALTH[health?.kind ?? 'unknown']
  return (
    <p role="status" className="flex items-center gap-2 text-stone-600 dark:text-stone-300">
      <span aria-hidden="true" className={`size-2 rounded-full ${colour}`} />
      {text}
    </p>
  )
}
