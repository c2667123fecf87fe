import { useEffect, useState } from 'react'

/**
 * The token behind `before` in the address; undefined where there is none. A fragment is never sent to a server, nor is a page loaded anew for another
 * one: a link that is pasted over this page's is followed. One without a token, as the skip link's, changes nothing.
 */
export function useFragmentToken(before: '#' | '#token='): string | undefined {
  const [token, setToken] = useState(() => readToken(before))
  useEffect(() => {
    const follow = () => setToken((now) => readToken(before) ?? now)
    window.addEventListener('hashchange', follow)
    return () => window.removeEventListener('hashchange', follow)
  }, [before])
  return token
}

function readToken(before: string): string | undefined {
  const { hash } = window.location
  return (hash.startsWith(before) && hash.slice(before.length)) || undefined
}
