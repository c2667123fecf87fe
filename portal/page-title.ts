import { useEffect } from 'react'
import { text } from './strings.ts'

/** Names the page in the browser's tab and history. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = text.common.title(title)
  }, [title])
}
