import { allItems } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { buildReport } from '../report/build.ts'
import { problemText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { listeningFindings } from '../run/explore/listening-findings.ts'
import { runAll } from '../run/run.ts'
import { bundledTarget, type ConformingServer, lastingTarget, loadVariants } from '../targets/bundled.ts'
import { madeUpMeta } from './made-up.ts'
import type { Merged } from './merge-variants.ts'
import { turnUnlessProof } from './proof-form.ts'

const corpus = await openCorpus()

interface VariantRun {
  verdict: string
  exitCode: number
  /** Every case that did not pass: `warned limits/api-keys`; and what the model noticed while they ran. */
  departures: string[]
  /** The problem of each departure, for the reader of a failure. */
  messages: string[]
  /** Whether a departure is of a case that was run. */
  wasRun(departure: string): boolean
}

interface VariantRunOptions {
  /** One server for the whole run, by the way that URLs take, instead of a fresh one per case. */
  lasting?: boolean
  /** Calls to such a server that are under way at once. */
  concurrency?: number
  /** Outside of a proof, only every `every`-th case, from the index `first` on. */
  part?: { every: number; first: number }
}

/** Runs every case against a conforming variant, or a part of them. */
export async function runVariant(
  variant: ConformingServer | Merged,
  options: VariantRunOptions = {},
): Promise<VariantRun> {
  const { lasting = false, concurrency = 1, part = { every: 1, first: 0 } } = options
  const items = turnUnlessProof(allItems(corpus), part.every, part.first)
  const { profile, rules = {}, settings } = 'create' in variant ? { ...variant, ...variant.create() } : variant
  const seed = 1
  const target = (lasting ? lastingTarget : bundledTarget)({ profile, rules }, { ...settings, concurrency })
  const outcomes = await runAll({ target, corpus, items, seed, listens: lasting })
  const report = buildReport({
    meta: madeUpMeta,
    outcomes,
    corpus,
    known: [],
    options: { strict: false, partial: null },
  })
  const departing = outcomes.filter(departs)
  const findings = listeningFindings(outcomes, [])
  const keys = new Set(items.map(({ key }) => key))
  return {
    verdict: report.verdict,
    exitCode: report.exitCode,
    departures: [...departing.map(({ verdict, key }) => `${verdict} ${key}`), ...findings.map(({ id }) => id)].sort(),
    messages: departing.map(({ key, problem, envelope }) => `${key}: ${problemText(problem ?? envelope[0]?.problem)}`),
    wasRun: (departure) => keys.has(departure.slice(departure.indexOf(' ') + 1)),
  }
}

const departs = ({ verdict, envelope }: CaseOutcome): boolean => verdict !== 'passed' || envelope.length > 0

/** The variants that every test run tries alone. All are also tried together in other servers, and alone in `npm run variants`. */
export async function variantsToTryAlone(): Promise<ConformingServer[]> {
  return (await loadVariants()).filter(({ id, alone: only }) => only || alone.has(id))
}

const alone = new Set([
  'refusals-as-text',
  'refusals-without-body',
  'nonces-reusable',
  'narrow-time-window',
  'clock-ahead',
  'clock-behind',
  'slow',
  'connections-closed',
  'rate-limited',
  'every-grant-a-session',
  'initial-key-counts',
  'eleventh-key-removes-the-oldest',
  'short-refresh-lifetime',
  'no-token-word',
  'scheme-of-its-own',
  'base-url-with-a-path',
])
