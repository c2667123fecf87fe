/**
 * Runs one task a key at a time: who asks while it runs shares its outcome, success or failure.
 * Nothing is remembered after the task has ended.
 */
export function createOnce<K, V>(): (key: K, task: () => Promise<V>) => Promise<V> {
  const running = new Map<K, Promise<V>>()
  return (key, task) => {
    const known = running.get(key)
    if (known) return known
    const started = task().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
}
