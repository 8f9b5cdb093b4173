import { Command, CommanderError } from 'commander'
import { packageVersion } from './commands/console.ts'
import { SuiteError, usageError } from './engine/errors.ts'
import { suggestion } from './engine/language/yaml-source.ts'
import { printable, printableLines } from './engine/printable.ts'
import type { Command as CommandRow, Table } from './run/flags.ts'

/** Each command is loaded when it is used, so `serve` does not wait for the modules of `run`. */
const commands: { readonly [name: string]: () => Promise<CommandRow<Table, never>> } = {
  run: async () => (await import('./commands/run.ts')).command,
  explore: async () => (await import('./commands/explore.ts')).command,
  facts: async () => (await import('./commands/facts.ts')).command,
  client: async () => (await import('./commands/client.ts')).command,
  watch: async () => (await import('./commands/watch.ts')).command,
  judge: async () => (await import('./commands/judge.ts')).command,
  serve: async () => (await import('./commands/serve.ts')).command,
  init: async () => (await import('./commands/init.ts')).command,
  show: async () => (await import('./commands/show.ts')).show,
  keys: async () => (await import('./commands/keys.ts')).command,
  list: async () => (await import('./commands/show.ts')).list,
  compare: async () => (await import('./commands/compare.ts')).command,
  diff: async () => (await import('./commands/diff.ts')).command,
  vectors: async () => (await import('./commands/signature.ts')).commands.vectors,
  sign: async () => (await import('./commands/signature.ts')).commands.sign,
  verify: async () => (await import('./commands/signature.ts')).commands.verify,
  diagnose: async () => (await import('./commands/signature.ts')).commands.diagnose,
  lab: async () => (await import('./commands/lab.ts')).command,
}

/** The maximum length of one line of an error. */
const longestMessage = 4000

/** Where a defect of the suite itself is reported. */
const reportDefect =
  'This is a defect of svc-conformance: please report it with the output of the same command under SVC_DEBUG=1'

/**
 * The whole command line. Sets process.exitCode (design: 0, 1, 2 wrong usage, 3 unusable target) and never throws.
 *
 * @param given what follows the name of the program
 */
export async function main(given: readonly string[]): Promise<void> {
  const argv = given[0] === 'version' ? ['--version', ...given.slice(1)] : given
  try {
    demandTopic(argv)
    await (await commandLine(argv[0])).parseAsync(argv, { from: 'user' })
  } catch (error) {
    process.exitCode = explain(error)
  }
}

/** For `help nosuch` commander would print the whole usage. @throws SuiteError (`usage`) with a did-you-mean */
function demandTopic([command, topic]: readonly string[]): void {
  if (command !== 'help' || topic === undefined || topic.startsWith('-')) return
  const names = Object.keys(commands)
  if (topic !== 'help' && !names.includes(topic))
    throw usageError(`Unknown command "${topic}"${suggestion(topic, names)}`)
}

/** Loads only the named command if it is known; otherwise all of them, for the help and the did-you-mean. */
async function commandLine(name: string | undefined): Promise<Command> {
  const program = new Command('svc-conformance')
    .description(
      'Does this server implement the service authorization interface correctly, and if not, which sentence does it break?',
    )
    .version(packageVersion(), '--version')
    .addHelpText('after', '\nBegin with "svc-conformance run"; "svc-conformance COMMAND --help" explains each command.')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
  const names = name !== undefined && Object.hasOwn(commands, name) ? [name] : Object.keys(commands)
  for (const one of names) declare(program.command(one), await commands[one]?.())
  return program
}

/** Gives a command of commander what the row of ours says. */
function declare(command: Command, row: CommandRow<Table, unknown> | undefined): void {
  if (row === undefined) return
  const { about, operand, flags, help = '', run } = row
  command.description(about).addHelpText('after', help)
  if (operand !== undefined) command.argument(...operand)
  let current: string | undefined
  for (const { syntax, about, isRepeatable, isRequired, preset, heading, together } of Object.values(flags)) {
    if (heading !== undefined && heading !== current) command.optionsGroup(heading)
    current = heading
    const collect = (text: string, earlier: string[] = []): string[] => {
      const before = together === undefined ? [] : (command.getOptionValue(together) ?? [])
      if (together !== undefined)
        command.setOptionValue(together, [...before, { flag: syntax.split(' ')[0], name: text }])
      return [...earlier, text]
    }
    if (isRequired === true) command.requiredOption(syntax, about)
    else if (isRepeatable) command.option(syntax, about, collect)
    else command.option(syntax, about, preset)
  }
  command.action(async (first, second) => {
    const exitCode = await (operand === undefined ? run(first, undefined) : run(second, first))
    if (typeof exitCode === 'number') process.exitCode = exitCode
  })
}

function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    const sentence = usageSentence(error)
    if (sentence !== null) console.error(printableLines(sentence))
    return 2
  }
  if (error instanceof SuiteError) {
    // A message may quote a server; its own line breaks show the place of a mistake in a file.
    for (const line of error.message.split('\n')) console.error(printable(line, longestMessage))
    if (debugging()) console.error(error.stack)
    return error.exitCode
  }
  const message = error instanceof Error ? error.message : String(error)
  console.error(printableLines(`Cannot go on: ${message}\n${systemAdvice(error) ?? reportDefect}`))
  if (debugging()) console.error(error)
  return 2
}

function debugging(): boolean {
  return process.env.SVC_DEBUG === '1'
}

/** What to do about an error of the machine or of its settings; null where it may be a defect of the suite. */
export function systemAdvice(error: unknown): string | null {
  const { code, syscall } = (typeof error === 'object' && error !== null ? error : {}) as NodeJS.ErrnoException
  if (syscall === 'uv_cwd') return 'Change to another folder: the current one does not exist any more'
  if (syscall === 'mkdtemp') return 'Set TMPDIR to a folder that can be written'
  if (code === 'EMFILE' || code === 'ENFILE') return 'Raise the limit of open files, for example with "ulimit -n 1024"'
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'Free some space on the disk'
  if (code === 'EROFS') return 'Write to another disk: this one is read-only'
  return null
}

/** The error of commander in the words of this suite; null if the help was printed instead. */
function usageSentence(error: Pick<CommanderError, 'code' | 'message'>): string | null {
  if (error.code === 'commander.help') return null
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n')
  const meant = /Did you mean (?:one of )?(.+)\?/.exec(more.join(' '))?.[1]
  const sentence = capital(first.replaceAll("'", '"').replace(/\.$/, ''))
    .replace('Unknown option', 'Unknown flag')
    .replace(/\. Expected (\d+) arguments? but got (\d+)$/, ': expected $1, got $2')
  if (sentence === 'Unknown flag "--secret"') return `${sentence}: ${whereSecretsGo}`
  return meant === undefined ? sentence : `${sentence}, did you mean "${meant.replaceAll(', ', '" or "')}"?`
}

const whereSecretsGo =
  'give the secret in a variable or in a file, as "--help" says, because every process list shows flags'

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
