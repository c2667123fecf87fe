/** Up to here a loop is faster than a call. */
const LOOPED_LENGTH_MAX = 20

/** Writes text of one character a byte at a place where there is room for it; returns where to go on. */
export function writeLatin1(into: Buffer, text: string, at: number): number {
  const { length } = text
  if (length > LOOPED_LENGTH_MAX) into.write(text, at, 'latin1')
  else for (let i = 0; i < length; i += 1) into[at + i] = text.charCodeAt(i)
  return at + length
}
