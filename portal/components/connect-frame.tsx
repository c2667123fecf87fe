import { type ReactNode, useState } from 'react'
import { isLight } from '../brand-color.ts'
import type { Connect } from '../records.ts'
import { text } from '../strings.ts'
import { Spinner } from './button.tsx'

/** The customer's page carries the vendor's name and colour, not ours. */
export function ConnectFrame({ project, children }: { project?: Connect['project']; children: ReactNode }) {
  return (
    <div className="min-h-svh bg-stone-50 text-stone-900 antialiased dark:bg-stone-950 dark:text-stone-100">
      <div aria-hidden="true" className="h-1.5 bg-teal-700" style={project?.color ? { backgroundColor: project.color } : undefined} />
      <header className="mx-auto flex min-h-16 w-full max-w-2xl items-center gap-3 px-4 pt-4 sm:px-6">
        {project && (
          <>
            <Logo project={project} />
            <span className="min-w-0 font-semibold break-words">{project.name}</span>
          </>
        )}
      </header>
      <main className="mx-auto grid w-full grid-cols-1 max-w-2xl gap-6 px-4 pt-4 pb-10 sm:px-6">{children}</main>
      {project && (
        <footer className="mx-auto w-full max-w-2xl px-4 pb-8 text-xs text-stone-600 sm:px-6 dark:text-stone-400">
          {text.connect.by(project.name)}
        </footer>
      )}
    </div>
  )
}

function Logo({ project: { name, color, logoUrl } }: { project: Connect['project'] }) {
  const [isBroken, setBroken] = useState(false)
  if (logoUrl && !isBroken) {
    return (
      <img
        src={logoUrl}
        alt=""
        onError={() => setBroken(true)}
        referrerPolicy="no-referrer"
        className="h-9 max-w-32 rounded object-contain"
      />
    )
  }
  return (
    <span
      aria-hidden="true"
      className="grid size-9 shrink-0 place-items-center rounded-lg bg-teal-700 font-semibold text-white"
      style={color ? { backgroundColor: color, color: isLight(color) ? '#1c1917' : '#ffffff' } : undefined}
    >
      {Array.from(name)[0]?.toUpperCase()}
    </span>
  )
}

const GOOD = { box: 'border-emerald-300 bg-emerald-50 dark:border-emerald-800 dark:bg-emerald-950/50', disc: 'bg-emerald-700' }
const ENDS = {
  done: { ...GOOD, sign: '✓' },
  'under-way': { ...GOOD, sign: <Spinner /> },
  hindered: { box: 'border-amber-300 bg-amber-50 dark:border-amber-800 dark:bg-amber-950/50', disc: 'bg-amber-700', sign: '!' },
}

/** The end of the customer's part, but for what is in the way of it. */
export function Done({
  heading,
  sentence,
  look = 'done',
  children,
}: {
  heading: string
  sentence: string
  look?: keyof typeof ENDS
  children?: ReactNode
}) {
  const { box, disc, sign } = ENDS[look]
  return (
    <section
      className={`grid grid-cols-1 animate-appear justify-items-start gap-4 rounded-2xl border p-5 [overflow-wrap:anywhere] sm:p-8 ${box}`}
    >
      <h2 className="flex items-center gap-3 text-xl font-semibold">
        <span aria-hidden="true" className={`grid size-8 shrink-0 place-items-center rounded-full text-white ${disc}`}>
          {sign}
        </span>
        {heading}
      </h2>
      <p className="leading-relaxed">{sentence}</p>
      {children}
    </section>
  )
}
