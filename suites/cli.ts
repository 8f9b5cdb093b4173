import { Command, CommanderError } from 'commander'
import { registerCompare } from './commands/compare.ts'
import { registerDiagnose } from './commands/diagnose.ts'
import { registerInit } from './commands/init.ts'
import { registerLab } from './commands/lab.ts'
import { registerList } from './commands/list.ts'
import { packageVersion } from './commands/package-version.ts'
import { registerRun } from './commands/run.ts'
import { registerServe } from './commands/serve.ts'
import { registerSign } from './commands/sign.ts'
import { usageSentence } from './commands/usage-sentence.ts'
import { registerVectors } from './commands/vectors.ts'
import { registerVerify } from './commands/verify.ts'
import { SuiteError } from './engine/errors.ts'

/** Where a defect of the suite itself is reported. */
const reportDefect =
  'This is a defect of svc-conformance: please report it with the output of the same command under SVC_DEBUG=1'

/**
 * The whole command line. Sets process.exitCode (design: 0, 1, 2 wrong usage, 3 unusable target) and never throws.
 *
 * @param argv what follows the name of the program
 */
export async function main(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `svc-conformance list | head` closes our stdout, which is no failure.
    if (error.code !== 'EPIPE') throw error
  })
  try {
    await commandLine().parseAsync(argv, { from: 'user' })
  } catch (error) {
    process.exitCode = explain(error)
  }
}

function commandLine(): Command {
  const program = new Command('svc-conformance')
    .description('Does this server keep the service authorization interface, and if not, which sentence does it break?')
    .version(packageVersion(), '--version')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
  for (const register of [
    registerRun,
    registerServe,
    registerInit,
    registerList,
    registerCompare,
    registerVectors,
    registerSign,
    registerVerify,
    registerDiagnose,
    registerLab,
  ])
    register(program)
  return program
}

function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    const sentence = usageSentence(error)
    if (sentence !== null) console.error(sentence)
    return 2
  }
  if (error instanceof SuiteError) {
    console.error(error.message)
    if (debugging()) console.error(error.stack)
    return error.exitCode
  }
  console.error(`Cannot go on: ${error instanceof Error ? error.message : String(error)}\n${reportDefect}`)
  if (debugging()) console.error(error)
  return 2
}

function debugging(): boolean {
  return process.env.SVC_DEBUG === '1'
}
