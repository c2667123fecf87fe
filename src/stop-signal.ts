/** What the operator asks for, by signal. */
export type StopSignal = {
  /** At the first SIGTERM or Ctrl-C: finish what runs, then end. */
  gently: AbortSignal
  /** At the second Ctrl-C: end now. */
  atOnce: AbortSignal
  asked: Promise<void>
  /** As if the operator had asked, without a word about it. */
  ask(): void
  close(): void
}

const SAME_KEYPRESS_MS = 500 // npm passes a Ctrl-C on that the terminal has sent to everybody already

/** Listens for SIGTERM and SIGINT; on a terminal for SIGHUP too, which there means that its window was closed. */
export function listenForStop(terminal: boolean, onAsked: (signal: NodeJS.Signals) => void): StopSignal {
  const gently = new AbortController()
  const atOnce = new AbortController()
  const asked = Promise.withResolvers<void>()
  let askedAt = 0
  const ask = () => {
    gently.abort()
    asked.resolve()
  }
  const onSignal = (name: NodeJS.Signals) => {
    if (!gently.signal.aborted) {
      askedAt = performance.now()
      onAsked(name)
      ask()
    } else if (name === 'SIGINT' && performance.now() - askedAt > SAME_KEYPRESS_MS) atOnce.abort()
  }
  const names: NodeJS.Signals[] = terminal ? ['SIGINT', 'SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM']
  for (const name of names) process.on(name, onSignal)
  const close = () => {
    for (const name of names) process.off(name, onSignal)
  }
  return { gently: gently.signal, atOnce: atOnce.signal, asked: asked.promise, ask, close }
}
