import { CopyButton } from './copy-button.tsx'

/** Text to type into a terminal, with a button that copies it. `copied` is what goes to the clipboard where that differs from what is shown. */
export function CodeBlock({ label, code, copied = code }: { label: string; code: string; copied?: string }) {
  return (
    <figure className="min-w-0 overflow-hidden rounded-xl border border-stone-300 bg-stone-100 text-left dark:border-stone-700 dark:bg-stone-950">
      <figcaption className="flex min-h-10 items-center justify-between gap-3 border-b border-stone-300 py-1 pr-1 pl-4 text-xs [overflow-wrap:anywhere] text-stone-700 dark:border-stone-700 dark:text-stone-300">
        {label}
        <CopyButton value={copied} what={label} look="quiet" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no mouse must be able to scroll it */}
      <pre tabIndex={0} className="overflow-x-auto p-4 font-mono text-[13px] leading-relaxed">
        {code}
      </pre>
    </figure>
  )
}
