const MINIMISING_MS_MAX = 15_000

export type Disagreement = { caseNumber: number; text: string; why: string }

/** A shorter text that still fails: pieces are left out, from halves down to single bytes. */
export async function minimise(text: string, fails: (text: string) => Promise<boolean>): Promise<string> {
  let smallest = text
  const endsAt = performance.now() + MINIMISING_MS_MAX
  for (let size = smallest.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < smallest.length && performance.now() < endsAt; ) {
      const shorter = smallest.slice(0, at) + smallest.slice(at + size)
      if (shorter !== '' && (await fails(shorter))) smallest = shorter
      else at += size
    }
  }
  return smallest
}

export function disagreement({ caseNumber, text, why }: Disagreement): Error {
  return new Error(`case ${caseNumber}: ${why}\n${JSON.stringify(text)}`)
}
