import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import type { Command } from 'commander'
import { interruptedExitCode, SuiteError } from '../engine/errors.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { lines, printableLines } from '../engine/printable.ts'
import { explore } from '../explore/explore.ts'
import { openTarget } from '../explore/open.ts'
import { exploreReport } from '../explore/report.ts'
import { renderExploration } from '../explore/text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { type Effort, type ExploreOutcome, exploreUrl } from '../run/explore/explore-url.ts'
import { demandPlaceFor } from '../run/files.ts'
import type { RunFlags } from '../run/options.ts'
import { readTargetOptions, type TargetOptions } from '../run/options.ts'
import { count, positive, readReports, someSeconds } from '../run/values.ts'
import { startExploreProgress } from './explore-progress.ts'
import { packageVersion } from './package-version.ts'
import { addTargetFlags, bundledByDefault, collect } from './run-flags.ts'
import { saveScenarios } from './save-scenarios.ts'
import { processOutlet, writeReports } from './write-reports.ts'

interface ExploreFlags extends RunFlags {
  for?: string
  seed?: string
  save?: string
  exploreCalls?: string
}

const defaultSeconds = 60
const goneExitCode = 3
/** Per second of `--for`; a call takes half a millisecond on the loopback. */
const mostCallsPerSecond = 2500

const afterHelp = `
Exit codes: 0 nothing found; 1 a finding; 2 wrong usage; 3 the target cannot be used; 130 interrupted.
A seed repeats an exploration. With "--save" each finding is written as a scenario for "run --fixtures".

  npx svc-conformance explore                                             the bundled server
  npx svc-conformance explore --url http://127.0.0.1:8080 --disposable --for 60 --save found`

/** Adds `explore` to the command line. */
export function registerExplore(program: Command): void {
  addTargetFlags(
    program
      .command('explore')
      .description(
        'make calls that no case makes, and look for answers that no reading of the document allows; without --url the bundled server',
      ),
    bundledByDefault,
  )
    .optionsGroup('How long')
    .option('--for <seconds>', `how long to make calls; ${defaultSeconds} by default`)
    .option('--explore-calls <number>', 'maximum number of calls')
    .option('--seed <number>', 'make the same calls again')
    .optionsGroup('What to print')
    .option('--save <dir>', 'write each finding as a scenario into this folder')
    .option('--report <format[=file]>', 'text, json, junit, html or markdown; repeatable', collect)
    .addHelpText('after', afterHelp)
    .action(async (flags: ExploreFlags) => {
      process.exitCode = await run(flags)
    })
}

/** @returns the exit code */
async function run(flags: ExploreFlags): Promise<number> {
  const target = readTargetOptions(flags, process.env)
  const reports = readReports(flags.report ?? [])
  for (const { file } of reports) if (file !== null) demandPlaceFor(file, 'the report', true)
  if (flags.save !== undefined) demandPlaceFor(join(flags.save, 'language.yaml'), 'the scenarios', true)
  const seconds = flags.for === undefined ? defaultSeconds : someSeconds('--for', flags.for)
  const seed = flags.seed === undefined ? randomInt(2 ** 31) : positive('--seed', flags.seed, 0)
  const maxCalls =
    flags.exploreCalls === undefined
      ? Math.ceil(seconds * mostCallsPerSecond)
      : count('--explore-calls', flags.exploreCalls)
  const outlet = processOutlet(process.env)
  const corpus = await openCorpus()
  const started = new Date()
  const progress = startExploreProgress(process.stderr, { target: target?.url ?? 'the bundled server', seconds })
  const effort = {
    allow: allowed(target),
    fresh: target?.disposable ?? true,
    seed,
    maxCalls,
    seconds,
    walks: Number.POSITIVE_INFINITY,
    requirements: corpus.requirements,
    say: progress.say,
    onCall: progress.called,
  }
  const explored = target === null ? await exploreBundled(effort) : await exploreUrl(target, effort)
  progress.end()
  if (explored.left.length > 0)
    progress.say(['Left on the target', ...explored.left.map((text) => `  ${text}`)].join('\n'))
  return conclude(flags, explored, { corpus, seed, started, target, reports, outlet })
}

async function exploreBundled(effort: Effort): Promise<ExploreOutcome> {
  const say = (found: string): void => effort.say(`Found: ${found}`)
  return { exploration: await explore({ ...effort, ...(await openTarget(null)), say }), stopped: null, left: [] }
}

interface Context {
  corpus: Corpus
  seed: number
  started: Date
  target: TargetOptions | null
  reports: ReturnType<typeof readReports>
  outlet: ReturnType<typeof processOutlet>
}

async function conclude(
  flags: ExploreFlags,
  { exploration, stopped }: ExploreOutcome,
  context: Context,
): Promise<number> {
  const { outlet, reports, corpus, target } = context
  if (stopped !== null && exploration.findings.length === 0)
    throw new SuiteError('interrupted', 'Interrupted; nothing was found until then')
  if (!exploration.rootAccepted) {
    const why = exploration.gone === null ? 'it refuses the root key in every way' : exploration.gone
    throw new SuiteError('unreachable', `Cannot explore "${target?.url ?? 'bundled'}": ${why}`)
  }
  const meta = {
    version: packageVersion(),
    target: target?.url ?? 'bundled',
    started: context.started.toISOString(),
    seed: String(context.seed),
    allow: target?.allow ?? (['sessions', 'keys', 'limits'] as const),
  }
  const report = exploreReport(corpus, exploration, meta)
  const onStdout = reports.find(({ file }) => file === null)
  if (onStdout?.format === 'text')
    outlet.stdout(printableLines(renderExploration(exploration, corpus.requirements, meta)))
  writeReports(
    report,
    reports.filter((one) => one !== onStdout || one.format !== 'text'),
    onStdout?.format === 'text' ? { ...outlet, stderr: () => {} } : outlet,
  )
  // Last, so that a full disk takes no report away.
  if (flags.save !== undefined && exploration.findings.length > 0)
    outlet.stderr(lines(await saveScenarios(flags, flags.save, { exploration, corpus })))
  if (stopped !== null) return interruptedExitCode
  if (exploration.findings.length > 0) return 1
  return exploration.gone === null ? 0 : goneExitCode
}

function allowed(target: TargetOptions | null): Effort['allow'] {
  const has = (name: 'sessions' | 'keys' | 'limits'): boolean => target === null || target.allow.includes(name)
  return { sessions: has('sessions'), keys: has('keys'), limits: has('limits') }
}
