import { usageError } from '../engine/errors.ts'
import { worst } from '../engine/judge/verdict.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { assembleReport } from './build.ts'
import { entryNamesCase } from './known.ts'
import type { CaseReport, Finding, KnownEntry, Meta, Report } from './report.ts'
import { type RequirementSet, splitBySet } from './requirement-set.ts'

/**
 * Merges the reports of all shards of a run into one.
 *
 * @throws SuiteError (`usage`) unless the reports are the shards 1/N to N/N of one version, each once
 */
export function mergeReports(
  reports: readonly Report[],
  corpus: Corpus,
  options: { strict: boolean; set?: RequirementSet | null },
): Report {
  const [first, ...others] = reports
  if (first === undefined) throw usageError('Name the reports to merge')
  checkShards(reports)
  const cases = mergeCases(reports.flatMap((report) => report.cases))
  return assembleReport({
    meta: others.reduce<Meta>((meta, { meta: other }) => mergeMeta(meta, other), { ...first.meta, shard: null }),
    cases,
    findings: mergeFindings(reports.flatMap(({ findings }) => findings)),
    newer: {
      cases: mergeCases(reports.flatMap(({ newer }) => newer.cases)),
      findings: mergeFindings(reports.flatMap(({ newer }) => newer.findings)),
    },
    stale: mergeStale(reports, cases),
    observed: reports.flatMap(({ observations }) =>
      observations.flatMap(({ question, answers }) => answers.map((seen) => ({ question, ...seen }))),
    ),
    corpus,
    ...judgedBy(options.set ?? null, corpus),
    left: reports.flatMap(({ left }) => left),
    options: { strict: options.strict, partial: null },
  })
}

function checkShards(reports: readonly Report[]): void {
  const versions = new Set(reports.map(({ meta }) => meta.version))
  if (versions.size > 1) throw usageError(`Cannot merge reports of different versions: ${[...versions].join(', ')}`)
  const sets = new Set(reports.map(({ meta }) => meta.set))
  if (sets.size > 1) throw usageError(`Cannot merge reports of different requirement sets: ${[...sets].join(', ')}`)
  const shards = reports.map(({ meta }) => {
    if (meta.shard === null)
      throw usageError(
        `Cannot merge the report of a whole run ("${meta.target}", ${meta.started}): expected reports of "run --shard I/N"`,
      )
    return meta.shard
  })
  const count = Number(shards[0]?.split('/')[1])
  for (let index = 1; index <= count; index++) {
    const found = shards.filter((shard) => shard === `${index}/${count}`).length
    if (found !== 1) {
      const what = found === 0 ? 'is missing' : 'is there twice'
      throw usageError(`Cannot merge the shards ${shards.join(', ')}: ${index}/${count} ${what}`)
    }
  }
  if (shards.length !== count) throw usageError(`Cannot merge the shards ${shards.join(', ')}: they are not of one run`)
}

/** Cases of every shard (its test keys, its envelope) count with their worst verdict. */
function mergeCases(all: readonly CaseReport[]): CaseReport[] {
  const cases = new Map<string, CaseReport>()
  for (const testCase of all) {
    const earlier = cases.get(testCase.key)
    if (earlier === undefined || isWorse(testCase, earlier)) cases.set(testCase.key, testCase)
  }
  return [...cases.values()]
}

/** A finding of several shards is listed once. */
function mergeFindings(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [finding.id, finding])).values()]
}

/** The requirements of the set that judged the shards. */
function judgedBy(set: RequirementSet | null, corpus: Corpus) {
  if (set === null) return {}
  const { requirements, planned } = splitBySet(set, corpus, [])
  return { corpus: { ...corpus, requirements }, planned }
}

function isWorse(one: CaseReport, other: CaseReport): boolean {
  return one.verdict !== other.verdict && worst([one.verdict, other.verdict]) === one.verdict
}

/** An entry is stale if at least one shard says so and no shard found the failure. */
function mergeStale(reports: readonly Report[], cases: readonly CaseReport[]): KnownEntry[] {
  const stale = new Map(
    reports.flatMap((report) => report.stale.map((entry) => [JSON.stringify(entry), entry] as const)),
  )
  return [...stale.values()].filter(
    (entry) => !cases.some((testCase) => testCase.verdict === 'known' && entryNamesCase(entry, testCase)),
  )
}

function mergeMeta(one: Meta, other: Meta): Meta {
  const both = (first: string, second: string): string =>
    first.split(', ').includes(second) ? first : `${first}, ${second}`
  return {
    ...one,
    target: both(one.target, other.target),
    started: [one.started, other.started].sort()[0] ?? one.started,
    durationMs: Math.max(one.durationMs, other.durationMs),
    seed: both(one.seed, other.seed),
    node: both(one.node, other.node),
    allow: one.allow.filter((word) => other.allow.includes(word)),
    clock: one.clock ?? other.clock,
    stopped: one.stopped ?? other.stopped,
  }
}
