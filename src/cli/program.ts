import { Command, Help, type Option } from 'commander'
import { ownCommand } from '../own-command.ts'
import { OWN_VERSION } from '../own-version.ts'
import { printableLines } from './output.ts'

/** The command line with these commands. A wrong use throws a CommanderError, its complaint printed already unless `isQuiet`. */
export function createProgram(commands: readonly Command[], { isQuiet = false } = {}): Command {
  const program = new Command('namesake')
    .description("Serve your customers' own hostnames from your application: one CNAME, HTTPS by itself.")
    .version(OWN_VERSION, '-V, --version', 'print the version')
    .addHelpText('after', firstSteps)
  for (const command of commands) program.addCommand(command)
  program.addCommand(helpCommand(program))
  settle(program, ownCommand(), isQuiet ? () => {} : (text) => void process.stderr.write(text))
  return program
}

/** Commander's own one does not say which command is unknown. */
function helpCommand(program: Command): Command {
  const explain = (names: string[]) => {
    let command = program
    for (const name of names) {
      const found = command.commands.find((one) => one.name() === name)
      if (!found) return command.error(`error: unknown command '${name}'`)
      command = found
    }
    command.help()
  }
  return new Command('help').description('Print the help of a command').argument('[command...]').action(explain)
}

/** What every command has alike. */
function settle(command: Command, path: string, writeErr: (text: string) => void): void {
  command
    .exitOverride()
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ optionDescription: describeOption, subcommandTerm: termOf })
    .helpCommand(false)
    .configureOutput({ writeErr, outputError: (text, write) => write(printableLines(text).replace(/^error:/, 'namesake:')) })
    .showHelpAfterError(`What there is: ${path} --help`)
  for (const sub of command.commands) settle(sub, `${path} ${sub.name()}`, writeErr)
}

function describeOption(option: Option): string {
  return `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`
}

function termOf(command: Command): string {
  return [command.name(), ...command.registeredArguments.map((argument) => `<${argument.name()}>`)].join(' ')
}

function firstSteps(): string {
  const namesake = ownCommand()
  return `
First steps:
  ${namesake} start --demo
  ${namesake} projects create --name Shop --upstream https://app.vendor.com
  ${namesake} tokens issue --project shop
  ${namesake} domains add --project shop shop.customer.com

Settings are NAMESAKE_… variables in the environment or in .env: see docs/operations.md.`
}
