import { useState } from 'react'

/** Text to type into a terminal, with a button that copies it. `label` says what it is to whoever cannot see it. */
export function CodeBlock({ label, text }: { label: string; text: string }) {
  return (
    <figure className="overflow-hidden rounded-xl border border-stone-800 bg-stone-900 shadow-sm dark:bg-black/40">
      <figcaption className="flex items-center justify-between gap-3 border-b border-white/10 py-1.5 pr-1.5 pl-4 text-xs text-stone-400">
        {label}
        <CopyButton text={text} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no mouse must be able to scroll it */}
      <pre tabIndex={0} className="overflow-x-auto p-4 font-mono text-[13px] leading-relaxed text-stone-100">
        {text}
      </pre>
    </figure>
  )
}

function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  // The clipboard exists on https and on localhost alone.
  if (!('clipboard' in navigator)) return <span className="py-1" />
  return (
    <button
      type="button"
      onClick={() => void copy()}
      onBlur={() => setCopied(false)}
      className="cursor-pointer rounded-lg px-2.5 py-1 font-medium text-stone-200 hover:bg-white/10"
    >
      <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
    </button>
  )
}
