/** Simpler forms of a sequence that shows a finding: a reader takes everything in it for part of the cause. */
import { inDocumentOrder } from './calls.ts'
import { exchanges, withKey } from './commoner-keys.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { withoutWord, wordsOfGrants } from './fewer-words.ts'
import { isOtherSession } from './other-pairs.ts'
import { type Shown, shows } from './replay.ts'
import type { Step } from './step.ts'
import { refreshedIn } from './token-lines.ts'
import { isWhole } from './whole-sequence.ts'

/** How often a finding is run in its shortest form. */
export const runs = 3
/** The longest time on a running clock for seeing a finding again, for shortening it, and for running its shortest form. */
const longestShrinkMs = 25_000
/** The share of the time left that each of the three may take. */
const shareOfShrink = 1 / 6
/** What each of the three may take near the end of the exploration, from so long before it to so long after. In ms. */
const leastShrinkMs = 7000
const nearEndMs = 15_000

/** With fewer refreshes and words of scope, the keys that a reader knows, and plain nonces and params, as far as the finding is still seen. */
export async function simpler(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  const single = await oneAtATime(x, candidate, shown)
  const narrow = await narrower(x, candidate, await withFewerRefreshes(x, candidate, single))
  return plainer(x, candidate, await withSecondAddress(x, candidate, await withCommonerKeys(x, candidate, narrow)))
}

/** One of several calls at once, if its result is wrong when it is made alone, too. */
async function oneAtATime(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  const last = shown.steps.at(-1)
  if (candidate.kind !== 'shape' || last?.do !== 'burst') return shown
  for (const call of last.calls) {
    const alone = await shows(x, candidate, [...shown.steps.slice(0, -1), call], true)
    if (alone !== null) return alone
  }
  return shown
}

/** Calls from the second address in the place of any other, because a target file can name only that. */
async function withSecondAddress(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  const isKnown = (from: string | undefined): boolean => from === undefined || from.endsWith('-address')
  if (shown.steps.every((step) => step.do !== 'call' || isKnown(step.from))) return shown
  const steps = shown.steps.map(
    (step): Step => (step.do !== 'call' || isKnown(step.from) ? step : { ...step, from: 'second-address' }),
  )
  return (await shows(x, candidate, steps, true)) ?? shown
}

/** With the pair that was refreshed in the place of the new one, as long as the rest shows that the same requirement is broken. */
async function withFewerRefreshes(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  let least = shown
  const isLate = laterOn(x)
  for (let at = least.steps.length - 2; at > 0; at--) {
    if (isLate() || hasTooFew(x, least.steps.length * (runs + 1))) return least
    const steps = withoutRefresh(least.steps, at)
    if (steps !== null) least = (await shows(x, candidate, steps, true)) ?? least
  }
  return least
}

/** The sequence without one refresh; null if the step is none. */
function withoutRefresh(steps: readonly Step[], at: number): Step[] | null {
  const step = steps[at]
  const old = step?.do === 'call' && step.change === undefined ? refreshedIn(step) : undefined
  if (step?.do !== 'call' || old === undefined || step.as === undefined) return null
  const rest = JSON.stringify(steps.slice(at + 1)).replaceAll(`$${step.as}.`, () => `$${old}.`)
  return [...steps.slice(0, at), ...(JSON.parse(rest) as Step[])]
}

/** Leaves out words of scope, as long as the rest shows that the same requirement is broken. */
async function narrower(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  let least = shown
  const isLate = laterOn(x)
  for (const word of candidate.kind === 'refused' ? [] : wordsOfGrants(shown.steps)) {
    if (isLate() || hasTooFew(x, least.steps.length * (runs + 1))) return least
    const steps = withoutWord(least.steps, word)
    if (steps !== null) least = (await shows(x, candidate, steps, true)) ?? least
  }
  return least
}

/** With the keys that a reader knows, as long as the same requirement is broken. */
async function withCommonerKeys(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  let common = shown
  const isLate = laterOn(x)
  for (const exchange of exchanges(x, shown.steps)) {
    if (isLate() || hasTooFew(x, common.steps.length * (runs + 1))) return common
    common = (await shows(x, candidate, withKey(common.steps, exchange), true)) ?? common
  }
  return common
}

/** The order of params, and what a nonce looks like, seldom matter; a reader takes each for part of the cause. */
async function plainer(x: Explorer, candidate: Candidate, least: Shown): Promise<Shown> {
  const plain = least.steps.map(withoutNonce)
  const common = plain.every((step, at) => step === least.steps[at]) ? null : await shows(x, candidate, plain, true)
  const shown = await withSingleChanges(x, candidate, common ?? least)
  return (await shows(x, candidate, shown.steps.map(inDocumentOrder))) ?? shown
}

/** With one change where several were made at once. */
async function withSingleChanges(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  let single = shown
  for (const [at, step] of shown.steps.entries()) {
    if (step.do !== 'call' || step.also === undefined) continue
    const { also: _also, ...plain } = step
    single = (await shows(x, candidate, single.steps.with(at, plain), true)) ?? single
  }
  return single
}

function withoutNonce(step: Step): Step {
  if (step.do !== 'call' || step.nonce === undefined) return step
  const { nonce: _nonce, ...plain } = step
  return plain
}

/** Whether it is no longer seen with each call on a new connection. */
export async function needsConnection(x: Explorer, candidate: Candidate, { steps }: Shown): Promise<boolean> {
  const calls = steps.filter((step) => step.do === 'call')
  if (calls.length < 2 || hasTooFew(x, steps.length * (runs + 1))) return false
  const apart = steps.map((step): Step => (step.do === 'call' ? { ...step, connection: 'new' } : step))
  return (await shows(x, candidate, apart, true)) === null && (await shows(x, candidate, steps, true)) !== null
}

/** Whether the exploration ended so long ago that findings are not repeated any more. */
export const isLongOver = ({ options: { wire, timeLeftMs } }: Explorer): boolean =>
  !wire.controlled && timeLeftMs() <= -nearEndMs

/** More steps are not tried once more, each alone. */
const mostToTry = 12

/** Whether each step and each word of scope is needed: leaves out one at a time. False also where that was not tried. */
export async function needsAll(x: Explorer, candidate: Candidate, { steps }: Shown): Promise<boolean> {
  const mine = steps.filter((step) => !isOtherSession(step))
  if ((candidate.kind !== 'accepted' && candidate.kind !== 'shape') || mine.length > mostToTry) return false
  const isLate = laterOn(x)
  const fewer = [
    ...steps.slice(0, -1).map((_, at) => steps.toSpliced(at, 1)),
    ...wordsOfGrants(steps).flatMap((word) => [withoutWord(steps, word) ?? []]),
  ].filter((one) => one.length > 0 && isWhole(one))
  for (const one of fewer) {
    if (isLate() || hasTooFew(x, one.length)) return false
    if ((await shows(x, candidate, one, true)) !== null) return false
  }
  return fewer.length > 0
}

/** Whether fewer calls are left than these, or the exploration ended long ago. */
export const hasTooFew = (x: Explorer, calls: number): boolean => x.isOver({ calls, ms: -nearEndMs })

/**
 * On a running clock, whether one step of the work has taken long enough: other kinds of calls need time, too. A finding of the last seconds
 * may take some more, because one that is not seen again helps nobody.
 */
export function laterOn(x: Explorer): () => boolean {
  const { wire, timeLeftMs } = x.options
  const started = wire.now()
  const leftMs = timeLeftMs()
  const leastMs = Math.abs(leftMs) < nearEndMs ? leastShrinkMs : 0
  const longestMs = Math.min(longestShrinkMs, Math.max(shareOfShrink * leftMs, leastMs))
  return () => !wire.controlled && wire.now() - started > longestMs
}
