import type { ReactNode } from 'react'
import { API_URL } from '../api.ts'
import { CodeBlock } from '../components/code-block.tsx'
import { PageFrame } from '../components/page-frame.tsx'

const CLAIM = `curl ${API_URL}/v1/edge/domains \\
  -H "Authorization: Bearer $NAMESAKE_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"hostname": "shop.customer.com"}'`

const RECEIVED = `GET / HTTP/1.1
Host: shop.customer.com
X-Forwarded-Proto: https`

/** What Namesake does, in three steps that can be tried at once. */
export function StartPage() {
  return (
    <PageFrame>
      <section className="grid gap-10 pt-10 pb-16 sm:pt-16 lg:grid-cols-2 lg:items-center lg:gap-16">
        <div>
          <h1 className="text-3xl font-semibold tracking-tight sm:text-4xl">
            <span className="block">Your customers’ names.</span> <span className="block">Your application.</span>
          </h1>
          <p className="mt-5 max-w-prose text-lg leading-relaxed text-pretty text-stone-600 dark:text-stone-300">
            Your customer adds one DNS record, and their own hostname answers from your application over HTTPS, with a certificate that
            nobody has to think about.
          </p>
          <a
            href="/v1/docs"
            className="mt-8 inline-block rounded-xl bg-teal-700 px-5 py-3 font-medium text-white shadow-sm hover:bg-teal-800"
          >
            Read the API reference
          </a>
        </div>
        <RequestPath />
      </section>
      <section aria-labelledby="steps" className="border-t border-stone-200 py-14 dark:border-stone-800">
        <h2 id="steps" className="text-2xl font-semibold tracking-tight">
          Three steps to the first visitor
        </h2>
        <ol className="mt-10 grid gap-14">
          <Step
            number={1}
            title="Claim the hostname"
            text="Call the API with your project’s token. From then on the hostname is yours, and its DNS is checked by itself."
          >
            <CodeBlock label="In a terminal" text={CLAIM} />
          </Step>
          <Step
            number={2}
            title="Your customer adds one record"
            text="A CNAME from their hostname to your edge host. No file to upload, no certificate to send."
          >
            <RecordTable />
          </Step>
          <Step
            number={3}
            title="Visitors arrive"
            text="The certificate is issued and renewed by itself. Every request reaches your application with the hostname that the visitor asked for."
          >
            <CodeBlock label="What your application receives" text={RECEIVED} />
          </Step>
        </ol>
      </section>
    </PageFrame>
  )
}

/** The way of a request, top to bottom. */
function RequestPath() {
  return (
    <ol className="rounded-2xl border border-stone-200 bg-white p-6 shadow-sm sm:p-8 dark:border-stone-800 dark:bg-stone-900">
      <Stop name="https://shop.customer.com" says="A visitor opens your customer’s hostname" />
      <Stop name="Namesake" says="Ends TLS with the hostname’s own certificate" highlighted />
      <Stop name="https://app.your-company.com" says="Your application answers, knowing the hostname" last />
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
            <th className={`${cell} font-medium`}>Type</th>
            <th className={`${cell} font-medium`}>Name</th>
            <th className={`${cell} font-medium`}>Value</th>
          </tr>
        </thead>
        <tbody className="font-mono">
          <tr>
            <td className={cell}>CNAME</td>
            <td className={cell}>shop</td>
            <td className={cell}>your edge host</td>
          </tr>
        </tbody>
      </table>
    </div>
  )
}
