import { Command, CommanderError } from 'commander'
import { packageVersion } from './commands/console.ts'
import { SuiteError, usageError } from './engine/errors.ts'
import { suggestion } from './engine/language/yaml-source.ts'
import { printable, printableLines } from './engine/printable.ts'

/** Each command is loaded when it is used, so `serve` does not wait for the modules of `run`. */
const commands: { readonly [name: string]: () => Promise<(program: Command) => void> } = {
  run: async () => (await import('./commands/run.ts')).registerRun,
  explore: async () => (await import('./commands/explore.ts')).registerExplore,
  facts: async () => (await import('./commands/facts.ts')).registerFacts,
  client: async () => (await import('./commands/client.ts')).registerClient,
  watch: async () => (await import('./commands/watch.ts')).registerWatch,
  judge: async () => (await import('./commands/judge.ts')).registerJudge,
  serve: async () => (await import('./commands/serve.ts')).registerServe,
  init: async () => (await import('./commands/init.ts')).registerInit,
  show: async () => (await import('./commands/show.ts')).registerShow,
  keys: async () => (await import('./commands/keys.ts')).registerKeys,
  list: async () => (await import('./commands/show.ts')).registerList,
  compare: async () => (await import('./commands/compare.ts')).registerCompare,
  diff: async () => (await import('./commands/diff.ts')).registerDiff,
  vectors: async () => (await import('./commands/signature.ts')).registerVectors,
  sign: async () => (await import('./commands/signature.ts')).registerSign,
  verify: async () => (await import('./commands/signature.ts')).registerVerify,
  diagnose: async () => (await import('./commands/signature.ts')).registerDiagnose,
  lab: async () => (await import('./commands/lab.ts')).registerLab,
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
  for (const load of loadersFor(name)) {
    const register = await load()
    register(program)
  }
  return program
}

type Loader = (typeof commands)[string]

/** The help and a did-you-mean need all of them. */
function loadersFor(name: string | undefined): readonly Loader[] {
  const one = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined
  return one === undefined ? Object.values(commands) : [one]
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
  return meant === undefined ? sentence : `${sentence}, did you mean ${quoted(meant)}?`
}

const whereSecretsGo =
  'give the secret in a variable or in a file, as "--help" says, because every process list shows flags'

function quoted(words: string): string {
  return words
    .split(', ')
    .map((word) => `"${word}"`)
    .join(' or ')
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
