/** A reason that the API gives, as a sentence: it begins in lower case and ends without a full stop, so that programs can put it behind a colon. */
export function sentenceOf(reason: string): string {
  const capital = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`
}
