import { Command, Help, type Option } from 'commander'
import { ownCommand } from '../own-command.ts'
import { OWN_VERSION } from '../own-version.ts'

/** The command line with these commands. A wrong use throws a CommanderError, its complaint printed already. */
export function createProgram(commands: readonly Command[]): Command {
  const program = new Command('namesake')
    .description("Serve your customers' own hostnames from your application: one CNAME, HTTPS by itself.")
    .version(OWN_VERSION, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'Print the help of a command')
    .addHelpText('after', firstSteps)
  for (const command of commands) program.addCommand(command)
  settle(program, ownCommand())
  return program
}

/** What every command has alike. */
function settle(command: Command, path: string): void {
  command
    .exitOverride()
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ optionDescription: describeOption, subcommandTerm: termOf })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, 'namesake:')) })
    .showHelpAfterError(`What there is: ${path} --help`)
  if (command.parent) command.helpCommand(false)
  for (const sub of command.commands) settle(sub, `${path} ${sub.name()}`)
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
