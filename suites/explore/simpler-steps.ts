/** Simpler forms of a sequence that shows a finding: a reader takes everything in it for part of the cause. */
import { inDocumentOrder } from './calls.ts'
import { exchanges, withKey } from './commoner-keys.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { withoutWord, wordsOfGrants } from './fewer-words.ts'
import { isOtherSession } from './other-pairs.ts'
import { type Shown, shows } from './replay.ts'
import type { CallStep, Step } from './step.ts'
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

/** The same steps in a simpler form; null if there is none. */
type Simplification = (steps: readonly Step[]) => readonly Step[] | null

/** With fewer refreshes and words of scope, the keys that a reader knows, and plain nonces and params, as far as the finding is still seen. */
export async function simpler(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  const single = await oneAtATime(x, candidate, shown)
  const refreshes = single.steps
    .map(
      (_, at): Simplification =>
        (steps) =>
          withoutRefresh(steps, at),
    )
    .toReversed()
  const least = await simplified(x, candidate, single, refreshes)
  const words = wordsOfGrants(least.steps).map(
    (word): Simplification =>
      (steps) =>
        withoutWord(steps, word),
  )
  const narrow = await simplified(x, candidate, least, words)
  const common = await simplified(x, candidate, narrow, [
    ...exchanges(x, narrow.steps).map(
      (exchange): Simplification =>
        (steps) =>
          withKey(steps, exchange),
    ),
    fromSecondAddress,
    withoutNonces,
    ...narrow.steps.map(
      (_, at): Simplification =>
        (steps) =>
          withoutFurtherChange(steps, at),
    ),
  ])
  return (await shows(x, candidate, common.steps.map(inDocumentOrder))) ?? common
}

/** Makes one simplification after another, as long as the rest shows that the same requirement is broken. */
async function simplified(
  x: Explorer,
  candidate: Candidate,
  shown: Shown,
  simplifications: readonly Simplification[],
): Promise<Shown> {
  let least = shown
  const isLate = laterOn(x)
  for (const simplify of simplifications) {
    const steps = simplify(least.steps)
    if (steps === null) continue
    if (isLate() || hasTooFew(x, steps.length * (runs + 1))) return least
    least = (await shows(x, candidate, steps, true)) ?? least
  }
  return least
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

/** With the pair that was refreshed in the place of the new one. */
function withoutRefresh(steps: readonly Step[], at: number): Step[] | null {
  const step = at === steps.length - 1 ? undefined : steps[at]
  const old = step?.do === 'call' && step.change === undefined ? refreshedIn(step) : undefined
  if (step?.do !== 'call' || old === undefined || step.as === undefined) return null
  const rest = JSON.stringify(steps.slice(at + 1)).replaceAll(`$${step.as}.`, () => `$${old}.`)
  return [...steps.slice(0, at), ...(JSON.parse(rest) as Step[])]
}

/** Calls from the second address in the place of any other, because a target file can name only that. */
function fromSecondAddress(steps: readonly Step[]): Step[] | null {
  const isOther = (step: Step): step is CallStep => step.do === 'call' && step.from?.endsWith('-address') === false
  return steps.some(isOther) ? steps.map((step) => (isOther(step) ? { ...step, from: 'second-address' } : step)) : null
}

/** What a nonce looks like seldom matters. */
function withoutNonces(steps: readonly Step[]): Step[] | null {
  const plain = steps.map((step): Step => {
    if (step.do !== 'call' || step.nonce === undefined) return step
    const { nonce: _nonce, ...others } = step
    return others
  })
  return plain.every((step, at) => step === steps[at]) ? null : plain
}

/** With one change where several were made at once. */
function withoutFurtherChange(steps: readonly Step[], at: number): Step[] | null {
  const step = steps[at]
  if (step?.do !== 'call' || step.also === undefined) return null
  const { also: _also, ...plain } = step
  return steps.with(at, plain)
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

/** 1 if a sequence begins with a pause, which stays: after it nothing depends on what was done before. */
export const beginsQuiet = ([first]: readonly Step[]): number => (first?.do === 'wait' ? 1 : 0)

/** More steps are not tried once more, each alone. */
const mostToTry = 12

/** Whether each step and each word of scope is needed: leaves out one at a time. False also where that was not tried. */
export async function needsAll(x: Explorer, candidate: Candidate, { steps }: Shown): Promise<boolean> {
  const mine = steps.filter((step) => !isOtherSession(step))
  if (candidate.kind === 'history' || mine.length > mostToTry) return false
  const isLate = laterOn(x)
  const fewer = [
    ...steps.slice(beginsQuiet(steps), -1).map((_, at) => steps.toSpliced(at + beginsQuiet(steps), 1)),
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
