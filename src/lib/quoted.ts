const CHARACTERS_MAX = 80

/** What somebody sent, as a sentence names it: in quotes, escaped as in JSON, and no more of it than a sentence bears. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, CHARACTERS_MAX))
}
