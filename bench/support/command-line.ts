/** What an option does, by how it is written: `seconds N`, or `alone` where it takes no value. */
export type Options = Readonly<Record<string, string>>

const COMMON: Options = { 'no-save': 'leave bench/RESULTS.md as it is', help: 'print this' }

/** Prints what is measured and the options, and ends the process, where `--help` is among the words; with 1 where one of them is no option, nor the value of one. */
export function checkCommandLine(measurement: { name: string; purpose: string; options: Options }, words: readonly string[]): void {
  const { name, purpose, options } = measurement
  const help = [`npm run bench -- ${name} [options]`, '', purpose, '', ...linesOf({ ...options, ...COMMON })].join('\n')
  if (words.includes('--help')) {
    console.log(help)
    process.exit(0)
  }
  const stranger = strangerAmong(words, { ...options, ...COMMON })
  if (stranger === undefined) return
  console.error(`There is no option ${stranger}.\n\n${help}`)
  process.exit(1)
}

/** The first of the words that is no option, nor the value of one. */
export function strangerAmong(words: readonly string[], options: Options): string | undefined {
  const written = Object.keys(options).map((option) => `--${option}`)
  const isValue = (at: number) => written.some((option) => option.startsWith(`${words[at - 1]} `))
  const isOption = (word: string) => written.some((option) => option.split(' ')[0] === word)
  return words.find((word, at) => !isOption(word) && !isValue(at))
}

function linesOf(options: Options): string[] {
  const width = Math.max(...Object.keys(options).map((option) => option.length))
  return Object.entries(options).map(([option, what]) => `  --${option.padEnd(width)}  ${what}`)
}
