import { useState } from 'react'

/** The token behind `#` or `#token=` in the address; undefined where there is none. A fragment is never sent to a server. */
export function useFragmentToken(): string | undefined {
  const [token] = useState(() => window.location.hash.replace(/^#(token=)?/, '') || undefined)
  return token
}
