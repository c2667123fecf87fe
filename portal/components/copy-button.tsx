import { useEffect, useState } from 'react'
import { text } from '../strings.ts'
import { Button } from './button.tsx'

const SAID_MS = 2_000

/**
 * Copies `value`, and says whether that worked; `what` tells a screen reader what that is. The clipboard exists on https and on localhost alone: elsewhere
 * there is no button.
 */
export function CopyButton({ value, what, look = 'plain' }: { value: string; what: string; look?: 'plain' | 'quiet' | 'primary' }) {
  const [said, say] = useState('')
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => say(''), SAID_MS)
    return () => clearTimeout(timer)
  }, [said])
  if (!('clipboard' in navigator)) return null
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => say(text.common.copied),
      () => say(text.common.notCopied),
    )
  return (
    <Button look={look} size="small" onClick={() => void copy()} aria-label={said || text.common.copyOf(what)} className="min-w-18">
      <span aria-hidden="true">{said || text.common.copy}</span>
      <span aria-live="polite" className="sr-only">
        {said}
      </span>
    </Button>
  )
}
