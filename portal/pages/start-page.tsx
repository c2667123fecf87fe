import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { API_URL, readHealth } from '../api.ts'
import { OpenFrame } from '../components/app-frame.tsx'
import { ButtonLink, OuterLink } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { usePageTitle } from '../page-title.ts'
import { text } from '../strings.ts'

const words = text.start

const CLAIM = `curl ${API_URL}/v1/edge/domains \\
  -H "Authorization: Bearer $NAMESAKE_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"hostname": "shop.customer.com"}'`

const RECEIVED = `GET / HTTP/1.1
Host: shop.customer.com
X-Forwarded-Proto: https`

/** What Namesake does, in three steps that can be tried at once. */
export function StartPage() {
  usePageTitle(words.heading.join(' '))
  return (
    <OpenFrame wide>
      <section className="grid gap-10 pt-6 pb-16 sm:pt-14 lg:grid-cols-2 lg:items-center lg:gap-16">
        <div>
          <h1 className="text-3xl font-semibold tracking-tight sm:text-4xl">
            {words.heading.map((line) => (
              <span key={line} className="block">
                {line}{' '}
              </span>
            ))}
          </h1>
          <p className="mt-5 max-w-prose text-lg leading-relaxed text-pretty text-stone-600 dark:text-stone-300">{words.lead}</p>
          <div className="mt-8 flex flex-wrap gap-3">
            <ButtonLink to="/projects" look="primary" size="large">
              {words.go}
            </ButtonLink>
            <OuterLink href="/v1/docs" size="large">
              {words.docs}
            </OuterLink>
          </div>
        </div>
        <RequestPath />
      </section>
      <section aria-labelledby="steps" className="border-t border-stone-200 py-14 dark:border-stone-800">
        <h2 id="steps" className="text-2xl font-semibold tracking-tight">
          {words.stepsHeading}
        </h2>
        <ol className="mt-10 grid gap-14">
          <Step number={1} {...words.steps[0]!}>
            <CodeBlock label={words.terminal} code={CLAIM} />
          </Step>
          <Step number={2} {...words.steps[1]!}>
            <RecordTable />
          </Step>
          <Step number={3} {...words.steps[2]!}>
            <CodeBlock label={words.received} code={RECEIVED} />
          </Step>
        </ol>
      </section>
      <p className="flex flex-wrap items-center justify-between gap-3 text-sm">
        <HealthLine />
        <a href="/v1/openapi.json" className="text-stone-600 underline-offset-4 hover:underline dark:text-stone-300">
          {words.openapi}
        </a>
      </p>
    </OpenFrame>
  )
}

const HEALTH_DOTS = { unknown: 'bg-stone-400', up: 'bg-emerald-500', down: 'bg-rose-500' }

function HealthLine() {
  const health = useQuery({ queryKey: ['health'], queryFn: readHealth })
  const kind = health.data?.kind ?? 'unknown'
  return (
    <span role="status" className="flex items-center gap-2 text-stone-600 dark:text-stone-300">
      <span aria-hidden="true" className={`size-2 rounded-full ${HEALTH_DOTS[kind]}`} />
      {words.health[kind]}
    </span>
  )
}

/** The way of a request, top to bottom. */
function RequestPath() {
  return (
    <ol className="rounded-2xl border border-stone-200 bg-white p-6 shadow-sm sm:p-8 dark:border-stone-800 dark:bg-stone-900">
      <Stop name="https://shop.customer.com" says={words.stops.visitor} />
      <Stop name="Namesake" says={words.stops.edge} highlighted />
      <Stop name="https://app.your-company.com" says={words.stops.upstream} last />
    </ol>
  )
}

function Stop({ name, says, highlighted, last }: { name: string; says: string; highlighted?: boolean; last?: boolean }) {
  const dot = highlighted ? 'bg-teal-600 ring-teal-600/20' : 'bg-stone-400 ring-stone-400/20 dark:bg-stone-500'
  return (
    <li className={`relative pl-8 ${last ? '' : 'pb-9'}`}>
      {!last && <span aria-hidden="true" className="absolute top-3 bottom-[-0.75rem] left-[7px] w-0.5 bg-stone-200 dark:bg-stone-700" />}
      <span aria-hidden="true" className={`absolute top-1.5 left-0 size-4 rounded-full ring-4 ${dot}`} />
      <p className={`font-mono text-sm break-words sm:text-base ${highlighted ? 'font-semibold text-teal-700 dark:text-teal-400' : ''}`}>
        {name}
      </p>
      <p className="mt-1 text-sm text-stone-600 dark:text-stone-400">{says}</p>
    </li>
  )
}

function Step({ number, title, text, children }: { number: number; title: string; text: string; children: ReactNode }) {
  return (
    <li className="grid gap-x-16 gap-y-5 lg:grid-cols-2">
      <div className="flex gap-4">
        <span
          aria-hidden="true"
          className="grid size-8 shrink-0 place-items-center rounded-full bg-teal-700 text-sm font-semibold text-white"
        >
          {number}
        </span>
        <div>
          <h3 className="text-lg leading-8 font-semibold">{title}</h3>
          <p className="mt-2 max-w-prose leading-relaxed text-stone-600 dark:text-stone-300">{text}</p>
        </div>
      </div>
      <div className="min-w-0">{children}</div>
    </li>
  )
}

function RecordTable() {
  const cell = 'px-4 py-2.5 text-left'
  return (
    <div className="overflow-x-auto rounded-xl border border-stone-200 bg-white dark:border-stone-800 dark:bg-stone-900">
      <table className="w-full text-sm">
        <thead className="text-stone-500 dark:text-stone-400">
          <tr className="border-b border-stone-200 dark:border-stone-800">
            <th className={`${cell} font-medium`}>{text.domain.record.type}</th>
            <th className={`${cell} font-medium`}>{text.domain.record.name}</th>
            <th className={`${cell} font-medium`}>{text.domain.record.value}</th>
          </tr>
        </thead>
        <tbody className="font-mono">
          <tr>
            <td className={cell}>CNAME</td>
            <td className={cell}>shop</td>
            <td className={cell}>{words.edgeHost}</td>
          </tr>
        </tbody>
      </table>
    </div>
  )
}
