import { text } from '../strings.ts'
import { unicodeOf } from '../unicode-name.ts'
import { Dotted } from './dotted.tsx'

/** For a heading: a hostname in the letters of its owner, and below it as the DNS writes it, which is what counts and cannot be mistaken for another. */
export function Hostname({ name, say = (shown) => shown }: { name: string; say?: (shown: string) => string }) {
  const unicode = unicodeOf(name)
  return (
    <>
      <Dotted>{say(unicode ?? name)}</Dotted>
      {unicode !== undefined && (
        <span className="mt-1 block text-sm font-normal tracking-normal text-stone-600 dark:text-stone-400">
          <Dotted>{text.common.inDns(name)}</Dotted>
        </span>
      )}
    </>
  )
}
