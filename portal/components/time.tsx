import { useEffect, useState } from 'react'
import { ago, atTime } from '../strings.ts'

const REFRESH_MS = 30_000

/** How long ago, kept up to date; the exact time on demand. */
export function Ago({ at }: { at: string }) {
  const [, redraw] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => redraw((times) => times + 1), REFRESH_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={at} title={atTime(at)}>
      {ago(at)}
    </time>
  )
}

export function AtTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={ago(at)}>
      {atTime(at)}
    </time>
  )
}
