import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { interruptedExitCode, SuiteError, unusableExitCode } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import { languageVersion } from '../engine/language/corpus.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { line, lines, type Printable } from '../engine/printable.ts'
import { type Found, withoutReason } from '../explore/findings.ts'
import { buildReport } from '../report/build.ts'
import type { Document } from '../report/document.ts'
import { runRenderers } from '../report/formats.ts'
import { stopText } from '../report/problem-text.ts'
import { isShownAgain, type Report } from '../report/report.ts'
import { exploredLines, tellRun } from '../report/tell.ts'
import { safetyClasses } from '../run/capabilities.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { exploreTarget, isBroken, tryScenario } from '../run/explore.ts'
import { demandPlaceFor, replaceFile } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { readTargetOptions, targetFlags } from '../run/options.ts'
import { packageVersion, writeError } from './console.ts'
import { startExploreProgress } from './progress.ts'
import { writeFormats } from './write-reports.ts'

const exploreFlags = {
  ...targetFlags({}),
  ...flag.grouped('How long', {
    for: flag.value('--for <seconds>', 'how long to make calls; 60 by default', flag.number.seconds),
    exploreCalls: flag.value('--explore-calls <number>', 'maximum number of calls', flag.number.count),
    seed: flag.value('--seed <number>', 'make the same calls again', flag.number.notNegative),
  }),
  ...flag.grouped('What to print', {
    save: flag.value('--save <dir>', 'write each finding as a scenario into this folder'),
    report: flag.reportFlag,
  }),
}

const defaultSeconds = 60
/** Per second of `--for`; a call takes half a millisecond on the loopback. */
const mostCallsPerSecond = 2500

const help = `
Exit codes: 0 nothing found; 1 a finding; 2 wrong usage; 3 the target cannot be used; 130 interrupted.
A seed repeats an exploration. With "--save" each finding is written as a scenario for "run --fixtures".

  npx svc-conformance explore                                             the bundled server
  npx svc-conformance explore --url http://127.0.0.1:8080 --disposable --for 60 --save found`

export const command: flag.Command<typeof exploreFlags> = {
  about:
    'make calls that no case makes, and look for answers that no reading of the document allows; without --url the bundled server',
  flags: exploreFlags,
  help,
  run,
}

/** @returns the exit code */
async function run(typed: flag.Typed<typeof exploreFlags>): Promise<number> {
  const target = readTargetOptions(typed, process.env)
  const flags = flag.read(exploreFlags, typed)
  for (const { file } of flags.report) if (file !== null) demandPlaceFor(file, 'the report', true)
  if (flags.save !== null) demandPlaceFor(join(flags.save, 'language.yaml'), 'the scenarios', true)
  const seconds = flags.for ?? defaultSeconds
  const seed = flags.seed ?? randomInt(2 ** 31)
  const maxCalls = flags.exploreCalls ?? Math.ceil(seconds * mostCallsPerSecond)
  const corpus = await openCorpus()
  const started = new Date()
  const progress = startExploreProgress(process.stderr, { target: target?.url ?? 'the bundled server', seconds })
  for (const doubt of target?.doubts ?? []) progress.say(doubt)
  const { allow = safetyClasses } = target ?? {}
  const effort = {
    allow: { sessions: allow.includes('sessions'), keys: allow.includes('keys'), limits: allow.includes('limits') },
    fresh: target?.disposable ?? true,
    seed,
    maxCalls,
    seconds,
    walks: Number.POSITIVE_INFINITY,
    requirements: corpus.requirements,
    say: progress.say,
    onCall: progress.called,
  }
  const explored = await exploreTarget(target, effort)
  progress.end()
  const { exploration, stopped } = explored
  const name = target?.url ?? 'bundled'
  if (!exploration.rootAccepted) {
    if (stopped !== null) throw new SuiteError('interrupted', 'Interrupted before the target accepted a call')
    const why = exploration.gone === null ? 'it refuses the root key in every way' : exploration.gone
    throw new SuiteError('unreachable', `Cannot explore "${name}": ${why}`)
  }
  if (explored.left.length > 0)
    progress.say(['Left on the target', ...explored.left.map((text) => `  ${text}`)].join('\n'))
  const { findings, gone } = exploration
  const exitCode = findings.some(isShownAgain) ? 1 : gone === null ? 0 : unusableExitCode
  const report = buildReport({
    meta: {
      target: name,
      started: started.toISOString(),
      seed: String(seed),
      allow: [...allow],
      stopped: stopped === null ? gone : stopText(stopped),
      version: packageVersion(),
      durationMs: Math.round(exploration.seconds * 1000),
      node: process.versions.node,
      set: 'current',
      again: `npx svc-conformance explore --url ${name} --seed ${seed}`,
      absent: [],
      clock: null,
      shard: null,
    },
    outcomes: [],
    corpus,
    findings: findings.map(withoutReason),
    explored: exploration.explored,
    known: [],
    options: { strict: false, partial: 'only', ownExitCode: stopped === null ? exitCode : interruptedExitCode },
  })
  writeFormats(report, runRenderers(tellExploration), flags.report)
  // Last, so that a full disk takes no report away.
  if (flags.save !== null && findings.length > 0)
    writeError(lines(await saveScenarios(flags, flags.save, findings, corpus)))
  return report.exitCode
}

type Flags = Pick<flag.Values<typeof exploreFlags>, 'url' | 'target' | 'disposable'>

/**
 * Writes `scenarios/found/<slug>.yaml` for each finding that the fixture language has words for. The bundled server must pass it, or the
 * scenario would accuse every server.
 *
 * @returns what was written, how to run it, and why others were not written
 */
async function saveScenarios(
  flags: Flags,
  folder: string,
  findings: readonly Found[],
  corpus: Corpus,
): Promise<Printable[]> {
  const written: Printable[] = []
  let isImplied = false
  const others: Printable[] = []
  for (const [index, finding] of findings.entries()) {
    const why = await whyNotWritten(finding, corpus)
    if (why !== undefined)
      others.push(line`No scenario for finding ${index + 1} (${finding.id}): ${why}; the seed repeats it`)
    else {
      if (written.length === 0)
        replaceFile(join(folder, 'language.yaml'), `language: ${languageVersion}\n`, 'the scenarios')
      const file = `${finding.id.replace(/^found\//, '').replaceAll('/', '-')}.yaml`
      replaceFile(join(folder, 'scenarios', 'found', file), finding.fixture ?? '', 'the scenario')
      written.push(line`  ${index + 1}. ${file}`)
      isImplied ||= finding.level === 'implied'
    }
  }
  if (written.length === 0) return others
  return [
    line`Wrote ${counted(written.length, 'scenario')} to "${join(folder, 'scenarios', 'found')}":`,
    ...written,
    ...howToRun(flags, folder, isImplied),
    ...others,
  ]
}

async function whyNotWritten(
  { fixture, requirement, whyNoFixture }: Found,
  corpus: Corpus,
): Promise<string | undefined> {
  if (fixture === null) return whyNoFixture ?? 'the fixture language has no words for it'
  try {
    const verdict = await tryScenario(fixture, requirement, corpus)
    return isBroken(verdict)
      ? 'the bundled server does not pass it, so it rests on what this target did before'
      : undefined
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    return `it is not written rightly, which is a mistake of the suite (${error.message.split('\n')[0]})`
  }
}

/** @param isImplied one breaks a requirement that is only implied, which fails a run only with `--strict` */
function howToRun({ url, target, disposable }: Flags, folder: string, isImplied: boolean): Printable[] {
  const command = flag.commandLine('run', {
    url,
    target,
    disposable,
    strict: isImplied,
    fixtures: folder,
    only: 'found',
  })
  const place = disposable ? ' on a new instance, because the places for keys of this one may be taken' : ''
  return [
    line`Run them${place}: ${command}`,
    ...(isImplied ? [line`With --strict a scenario fails also where the document only implies the rule`] : []),
    line`They fail there until the server is mended; one that passes rests on what happened before it, and the seed repeats that`,
  ]
}

/** The report for people: the findings, and how much was tried. It says nothing of requirements, since no case ran. */
function tellExploration(report: Report): Document {
  const { document, meta, explored, findings } = tellRun(report)
  return {
    ...document,
    summary:
      findings.length === 0
        ? `Nothing found at ${document.title}: the document allows every answer to the calls that were tried`
        : `${counted(findings.length, 'finding')} at ${document.title}`,
    conclusion: meta.stopped === null ? [] : [{ label: '', text: `It stopped early: ${meta.stopped}` }],
    overview: [],
    rest: [
      {
        kind: 'lines',
        lines: [
          ...(explored === null ? [] : exploredLines(explored, meta.durationMs / 1000)),
          ...((explored?.skipped ?? []).length === 0 ? [] : ['A longer "--for" reaches them']),
        ],
      },
    ],
  }
}
