import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { packageRoot } from '../suites/engine/language/package-root.ts'

const scriptName = basename(process.argv[1] as string, '.js')

/**
 * Reads the command line of a script as `parseArgs` does. `--help` prints the comment at the head of the script, and ends with 0; an
 * unknown option or one without its value ends with 2 and one sentence.
 */
export function readArguments<Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).includes('--help')) {
    const source = readFileSync(join(packageRoot, 'scripts', `${scriptName}.ts`), 'utf8')
    const [, comment = ''] = /^\/\*\*\n([\s\S]*?)\n \*\//.exec(source) ?? []
    console.log(comment.replaceAll(/^ \* ?/gm, ''))
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    if (!(error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))) throw error
    wrongArgument(error.message)
  }
}

/** Ends the script with 2 and one sentence. */
export function wrongArgument(sentence: string): never {
  console.error(`${scriptName}: ${sentence} (--help says what it takes)`)
  process.exit(2)
}

/** `--part I/N`: every N-th thing, beginning with the one at I. */
export function isInPart(part: string): (thing: unknown, index: number) => boolean {
  const [at = 0, of = 1] = part.split('/').map(Number)
  return (_thing, index) => index % of === at
}

/** The results that earlier calls of a script appended to a file, one line of JSON each. */
export function readResults<Result>(file: string): Result[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Result)
}
