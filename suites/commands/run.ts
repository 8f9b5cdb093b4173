import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import type { RunFlags } from '../run/options/flags.ts'
import { startProgress } from './progress.ts'
import { addRunFlags } from './run-flags.ts'

/** Adds `run` to the command line. */
export function registerRun(program: Command): void {
  addRunFlags(
    program
      .command('run')
      .description(
        'run every scenario against a server, and report which sentences it breaks; without --url the bundled server',
      ),
  ).action(async (url: string | undefined, given: RunFlags) => {
    const flags = withUrl(given, url)
    const progress = startProgress(process.stderr)
    const [{ readRunOptions }, { runAndReport }] = await Promise.all([
      import('../run/options/options.ts'),
      import('./run-and-report.ts'),
    ])
    try {
      await runAndReport(readRunOptions(flags, process.env), progress)
    } finally {
      progress.end()
    }
  })
}

/** Matches texts that begin like a URL, or like a host with a port. */
const likeUrl = /^https?:|^[\w.-]+:\d|^\[|^[\w-]+(\.[\w-]+)+(\/|$)/

/** `run http://…` means `run --url http://…`. @throws SuiteError (`usage`) for any other word */
function withUrl(flags: RunFlags, url: string | undefined): RunFlags {
  if (url === undefined) return flags
  if (flags.url !== undefined) throw usageError(`Name the server once: "${url}" and "--url ${flags.url}" were given`)
  if (!likeUrl.test(url))
    throw usageError(`Cannot use "${url}": name the server with "--url", and cases with "--only ${url}"`)
  return { ...flags, url }
}
