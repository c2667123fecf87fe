import { styleText } from 'node:util'
import { escapeControls } from '../lib/control-characters.ts'

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow'

/** Writes what a command found: as one JSON document with --json, else as the lines that `readable` makes for a person. */
export function show(options: { json?: boolean | undefined }, value: unknown, readable: () => string[]): void {
  showText(options, JSON.stringify(value, null, 2), readable)
}

/** As `show`, for JSON that exists as text already and must stay as it is, but for control characters. */
export function showText(options: { json?: boolean | undefined }, json: string, readable: () => string[]): void {
  process.stdout.write(options.json ? `${escapeControls(json)}\n` : `${readable().join('\n')}\n`)
}

/**
 * Has the command end well where the reader of its output leaves early, as `| head -1` does, and with 1 and a sentence where the output cannot
 * be written for another reason.
 */
export function watchOutput(say: (detail: string) => void): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return
    process.exitCode = 1
    say(`the output cannot be written: ${code === 'ENOSPC' ? 'the disk is full' : message}`)
  })
}

/** Text that a stranger had a part in, as what a DNS record holds, without what a terminal would obey. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?')
}

/** As `printable`, for text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** A hostname in a command that is to be copied: a shell would take the star of a wildcard for files. */
export function shellWord(hostname: string): string {
  return hostname.includes('*') ? `'${hostname}'` : hostname
}

/** Text in a style where standard output is a terminal that shows colours. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** Rows below their headings, each column as wide as its widest entry. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [styled('dim', line(headings)), ...rows.map(line)]
}

/** A time as a person reads it, in UTC; a dash for none. */
export function shownTime(iso: string | null): string {
  return iso === null ? '-' : `${iso.slice(0, 16).replace('T', ' ')} UTC`
}
