import { useSyncExternalStore } from 'react'
import { text } from '../strings.ts'

type Message = { id: number; sentence: string; isShown: boolean }

const SHOWN_MS = 6_000
const MESSAGES_MAX = 4

/** What just happened, for eyes (a toast that goes by itself) and for screen readers. */
class Announcements {
  #messages: readonly Message[] = []
  #listeners = new Set<() => void>()
  #lastId = 0

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
  read = () => this.#messages

  add(sentence: string, isShown: boolean) {
    const message = { id: ++this.#lastId, sentence, isShown }
    this.#set([...this.#messages, message].slice(-MESSAGES_MAX))
    setTimeout(() => this.#set(this.#messages.filter(({ id }) => id !== message.id)), SHOWN_MS)
  }

  #set(messages: readonly Message[]) {
    this.#messages = messages
    for (const listener of this.#listeners) listener()
  }
}

const announcements = new Announcements()

/** Shows a toast, and says it. */
export function toast(sentence: string): void {
  announcements.add(sentence, true)
}

/** Says it to screen readers alone: eyes see the change where it is. */
export function announce(sentence: string): void {
  announcements.add(sentence, false)
}

/** Stands once in the page. */
export function Announcer() {
  const messages = useSyncExternalStore(announcements.subscribe, announcements.read)
  return (
    <section
      aria-label={text.frame.notifications}
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-4 z-50 grid justify-items-center gap-2 sm:left-auto sm:justify-items-end"
    >
      {messages.map(({ id, sentence, isShown }) => (
        <p
          key={id}
          className={
            isShown
              ? 'max-w-sm animate-appear rounded-xl bg-stone-900 px-4 py-3 text-sm [overflow-wrap:anywhere] text-white shadow-lg dark:bg-stone-100 dark:text-stone-900'
              : 'sr-only'
          }
        >
          {sentence}
        </p>
      ))}
    </section>
  )
}
