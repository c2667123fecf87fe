import { useEffect, useState } from 'react'
import { text } from '../strings.ts'
import { Button } from './button.tsx'

const SAID_MS = 2_000

/** Copies `value`; `what` tells a screen reader what that is. The clipboard exists on https and on localhost alone: elsewhere there is no button. */
export function CopyButton({ value, what, look = 'plain' }: { value: string; what: string; look?: 'plain' | 'quiet' | 'primary' }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), SAID_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  if (!('clipboard' in navigator)) return null
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  return (
    <Button
      look={look}
      size="small"
      onClick={() => void copy()}
      aria-label={isCopied ? text.common.copied : text.common.copyOf(what)}
      className="min-w-18"
    >
      <span aria-hidden="true">{isCopied ? text.common.copied : text.common.copy}</span>
      <span aria-live="polite" className="sr-only">
        {isCopied ? text.common.copied : ''}
      </span>
    </Button>
  )
}
