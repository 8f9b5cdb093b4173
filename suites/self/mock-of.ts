/** Measures a server, makes a mock of it from its facts, and asks both the same. */
import { seededRandom } from '../engine/signer/random.ts'
import type { TargetSettings } from '../engine/target.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { differencesOf, observe, observingItems, sheetOf } from '../run/observe.ts'
import { lastingTarget, type ServerOptions } from '../targets/bundled.ts'

type Difference = ReturnType<typeof differencesOf>['differences'][number]

const anHourMs = 3_600_000
const seed = 17
const corpus = await openCorpus()

export interface MockProof {
  sheet: ReturnType<typeof sheetOf>
  calls: number
  /** Calls that the mock answers with another outcome, status or code. */
  differences: Difference[]
  /** The control: calls that the reference server answers differently without the facts. */
  withoutFacts(): Promise<Difference[]>
}

export async function proveMock(
  server: ServerOptions,
  settings: Partial<TargetSettings>,
  targetOf = lastingTarget,
): Promise<MockProof> {
  const observed = (options: ServerOptions, maxWaitMs: number | null, more: Partial<TargetSettings> = settings) =>
    observe({
      target: targetOf(options, more),
      corpus,
      items: observingItems(corpus),
      allow: ['sessions', 'keys', 'limits'],
      seed,
      random: seededRandom(seed),
      patientMs: 0,
      maxWaitMs,
    })
  const original = await observed(server, anHourMs)
  const sheet = sheetOf(original, corpus)
  const { tokenPrefix } = sheet.profile
  const withPrefix = { ...settings, ...(tokenPrefix === undefined ? {} : { tokenPrefix }) }
  const mocked = differencesOf(original, await observed({ profile: sheet.profile }, null, withPrefix))
  return {
    sheet,
    calls: mocked.calls,
    differences: mocked.differences.filter(isUnlike),
    withoutFacts: async () => differencesOf(original, await observed({}, null)).differences.filter(isUnlike),
  }
}

/** Another outcome, status or code. */
const isUnlike = (one: Difference): boolean => one.in.some((what) => what !== 'shape')
