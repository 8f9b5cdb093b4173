/** Simpler forms of a sequence that shows a finding: a reader takes everything in it for part of the cause. */
import { inDocumentOrder } from './calls.ts'
import { exchanges, withKey } from './commoner-keys.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { withoutWord, wordsOfGrants } from './fewer-words.ts'
import { type Shown, shows } from './replay.ts'
import type { Step } from './step.ts'
import { refreshedIn } from './token-lines.ts'

/** How often a finding is run in its shortest form. */
export const runs = 3
/** The longest time on a running clock for seeing a finding again, for shortening it, and for running its shortest form. */
const longestShrinkMs = 25_000
/** The share of the time left that each of the three may take. */
const shareOfShrink = 1 / 6

/** With fewer refreshes and words of scope, the keys that a reader knows, and plain nonces and params, as far as the finding is still seen. */
export async function simpler(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  const narrow = await narrower(x, candidate, await withFewerRefreshes(x, candidate, shown))
  return plainer(x, candidate, await withCommonerKeys(x, candidate, narrow))
}

/** With the pair that was refreshed in the place of the new one, as long as the rest shows that the same requirement is broken. */
async function withFewerRefreshes(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  let least = shown
  const isLate = laterOn(x)
  for (let at = least.steps.length - 2; at > 0; at--) {
    if (isLate() || x.isOver({ calls: least.steps.length * (runs + 1), ms: 0 })) return least
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
    if (isLate() || x.isOver({ calls: least.steps.length * (runs + 1), ms: 0 })) return least
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
    if (isLate() || x.isOver({ calls: common.steps.length * (runs + 1), ms: 0 })) return common
    common = (await shows(x, candidate, withKey(common.steps, exchange), true)) ?? common
  }
  return common
}

/** The order of params, and what a nonce looks like, seldom matter; a reader takes each for part of the cause. */
async function plainer(x: Explorer, candidate: Candidate, least: Shown): Promise<Shown> {
  const plain = least.steps.map(withoutNonce)
  const common = plain.every((step, at) => step === least.steps[at]) ? null : await shows(x, candidate, plain, true)
  const shown = common ?? least
  return (await shows(x, candidate, shown.steps.map(inDocumentOrder))) ?? shown
}

function withoutNonce(step: Step): Step {
  if (step.do !== 'call' || step.nonce === undefined) return step
  const { nonce: _nonce, ...plain } = step
  return plain
}

/** Whether it is no longer seen with each call on a new connection. */
export async function needsConnection(x: Explorer, candidate: Candidate, { steps }: Shown): Promise<boolean> {
  const calls = steps.filter((step) => step.do === 'call')
  if (calls.length < 2 || x.isOver({ calls: steps.length * (runs + 1), ms: 0 })) return false
  const apart = steps.map((step): Step => (step.do === 'call' ? { ...step, connection: 'new' } : step))
  return (await shows(x, candidate, apart, true)) === null && (await shows(x, candidate, steps, true)) !== null
}

/** On a running clock, whether one step of the work has taken long enough: other kinds of calls need time, too. */
export function laterOn({ options: { wire, timeLeftMs } }: Explorer): () => boolean {
  const started = wire.now()
  const longestMs = Math.min(longestShrinkMs, shareOfShrink * timeLeftMs())
  return () => !wire.controlled && wire.now() - started > longestMs
}
