/** Runs of the cases against conforming servers, each alone or several variants in one server. */
import { allItems } from '../engine/conversation/cases.ts'
import { listeningFindings } from '../explore/listen.ts'
import { buildReport } from '../report/build.ts'
import { problemText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import type { ConformingServer } from '../servers/table.ts'
import { bundledTarget } from '../targets/bundled.ts'
import { madeUpMeta } from './made-up-report.ts'
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
  /** Makes one server for the whole run, instead of a fresh one per case. */
  lasting?: typeof bundledTarget | undefined
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
  const { lasting, concurrency = 1, part = { every: 1, first: 0 } } = options
  const items = turnUnlessProof(allItems(corpus), part.every, part.first)
  const {
    profile,
    rules = {},
    around,
    settings,
  } = 'create' in variant ? { ...variant, ...variant.create() } : { around: undefined, ...variant }
  const seed = 1
  const target = (lasting ?? bundledTarget)({ profile, rules, ...(around && { around }) }, { ...settings, concurrency })
  const outcomes = await runAll({ target, corpus, items, seed, listens: lasting !== undefined })
  const report = buildReport({
    meta: madeUpMeta,
    outcomes,
    corpus,
    known: [],
    options: { strict: false, partial: null },
  })
  const departing = outcomes.filter(({ verdict, envelope }) => verdict !== 'passed' || envelope.length > 0)
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

/** Several variants in one server. */
export interface Merged {
  ids: string[]
  profile: ConformingServer['profile']
  rules: NonNullable<ReturnType<ConformingServer['create']>['rules']>
  settings: NonNullable<ConformingServer['settings']> | Record<string, never>
}

/** Whether no switch or rule of one is set differently by the other. */
export function compatible(one: ConformingServer, other: ConformingServer): boolean {
  const chosen = new Map<string, unknown>(Object.entries({ ...one.profile, ...one.create().rules }))
  return Object.entries({ ...other.profile, ...other.create().rules }).every(
    ([name, value]) => !chosen.has(name) || chosen.get(name) === value,
  )
}

export function merge(members: readonly ConformingServer[]): Merged {
  return {
    ids: members.map(({ id }) => id),
    profile: Object.assign({}, ...members.map(({ profile }) => profile)) as ConformingServer['profile'],
    rules: Object.assign({}, ...members.map((member) => member.create().rules ?? {})) as Merged['rules'],
    settings: Object.assign({}, ...members.map(({ settings }) => settings ?? {})) as Merged['settings'],
  }
}

/** Every pair of variants that fit into one server; variants that are tried alone are in no pair. */
export function pairsOf(variants: readonly ConformingServer[]): [ConformingServer, ConformingServer][] {
  const combined = variants.filter(({ alone }) => !alone)
  return combined.flatMap((one, index) =>
    combined
      .slice(index + 1)
      .filter((other) => compatible(one, other))
      .map((other): [ConformingServer, ConformingServer] => [one, other]),
  )
}

/** Few servers in which every compatible pair of variants meets: each begins with an open pair, and takes whoever brings the most of them. */
export function coveringServers(variants: readonly ConformingServer[]): Merged[] {
  const combined = variants.filter(({ alone }) => !alone)
  const open = new Map(combined.map((one) => [one, new Set<ConformingServer>()]))
  for (const [one, other] of pairsOf(combined)) {
    open.get(one)?.add(other)
    open.get(other)?.add(one)
  }
  const partners = new Map([...open].map(([one, others]) => [one, new Set(others)]))
  const servers: Merged[] = []
  for (const [first, others] of open) {
    while (others.size > 0) {
      const members = [first]
      const worth = (one: ConformingServer): number =>
        members.filter((member) => open.get(member)?.has(one)).length * combined.length + (open.get(one)?.size ?? 0)
      let fitting = [...(partners.get(first) ?? [])]
      while (fitting.length > 0) {
        const best = fitting.reduce((one, other) => (worth(other) > worth(one) ? other : one))
        members.push(best)
        fitting = fitting.filter((one) => partners.get(best)?.has(one))
      }
      for (const member of members) for (const other of members) open.get(member)?.delete(other)
      servers.push(merge(members))
    }
  }
  return servers
}

/** Cases that do not pass against a conforming variant, each with its reason. No such case fails. */

interface Departure {
  /** `verdict key` */
  case: string
  reason: string
}

const keyOfOneSolution = ['the-area', 'another-solution', 'all-solutions'].map(
  (testCase) => `within-key-of-one-solution/${testCase}`,
)

const noKeyOfOneSolution: readonly Departure[] = [
  'solution-id',
  'solution-id-after-refresh',
  'solution-id-in-company/beside-the-scope-solution',
  'solution-id-in-company/without-the-scope-context',
  ...keyOfOneSolution,
].map((name) => ({
  case: `not-testable scopes/${name}`,
  reason: 'No key can be created here that holds a scope of one solution, and the root key grants none',
}))

export const expectedDepartures: { readonly [variant: string]: readonly Departure[] } = {
  'refresh-from-the-bound-address-only': ['a-lifetime', 'a-session', 'nothing-else'].map((name) => ({
    case: `not-testable refresh/address-kept-in-company/${name}`,
    reason: 'The document does not show from which address a bound token may be refreshed',
  })),
  'plain-key-names-only': [
    {
      case: 'not-testable signatures/body-in-utf-8',
      reason:
        'The name of a key is the one text that a documented and signed call may carry freely, and here it may not',
    },
  ],
  'few-words-in-keys': keyOfOneSolution.map((testCase) => ({
    case: `not-testable scopes/${testCase}`,
    reason: 'The scope of a key has only words of the examples here, none for one solution',
  })),
  'no-more-scope-than-the-creator': keyOfOneSolution.map((testCase) => ({
    case: `not-testable scopes/${testCase}`,
    reason: 'A key gets only words that its creator has here, and the root key has no word for one solution',
  })),
  'further-header-fields-ignored': ['header-fields/one-too-many', 'ecc-header/one-field-too-many'].map((testCase) => ({
    case: `warned signatures/${testCase}`,
    reason: 'The document shows five fields and does not say what becomes of a sixth; that it is refused is implied',
  })),
  'public-keys-once-only': ['can-be-deleted', 'can-be-disabled', 'scope-held'].map((scenario) => ({
    case: `not-testable keys/${scenario}-with-public-key`,
    reason: 'A second key of bob would have to have the public key of his first, and no other private key is at hand',
  })),
  'behind-a-local-proxy': ['addresses/second-address', 'refresh/address-kept'].map((testCase) => ({
    case: `not-testable ${testCase}`,
    reason: 'The server sees every call come from the proxy, so we have no second address there',
  })),
  'eleventh-key-removes-the-oldest': ['limits/api-keys', 'limits/eleventh'].map((testCase) => ({
    case: `warned ${testCase}`,
    reason:
      'The document implies that a creation beyond the tenth is refused; what happens to it is not shown, so this is a warning',
  })),
}

/** Departures that occur only in a server with two of these variants. */
const departuresOfPairs: readonly { pair: readonly [string, string]; departures: readonly Departure[] }[] = [
  { pair: ['no-solution-id-from-any', 'no-more-scope-than-the-creator'], departures: noKeyOfOneSolution },
]

/** The expected departures of a server with these variants. */
export function departuresOf(ids: readonly string[]): string[] {
  const ofPairs = departuresOfPairs.filter(({ pair }) => pair.every((id) => ids.includes(id)))
  const all = [...ids.flatMap((id) => expectedDepartures[id] ?? []), ...ofPairs.flatMap(({ departures }) => departures)]
  return [...new Set(all.map((departure) => departure.case))].sort()
}
