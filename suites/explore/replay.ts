/** Runs a sequence of steps again, and looks whether it shows a finding again. */

import type { Candidate, Explorer } from './explorer-types.ts'
import { byRoot } from './keyring.ts'
import { madeBy, type Outcome, quietMs, type Shown } from './sequences.ts'
import { type CallStep, isBurst, isCall, list, nameOf, namesIn, type Step, waitMs, withReferences } from './step.ts'

/** Which of several facts a refusal breaks depends on what was shown before, so that only the kind need be the same. */
const isSame = (found: Candidate, candidate: Candidate): boolean =>
  found.kind === candidate.kind && (found.kind !== 'shape' || found.requirement === candidate.requirement)

/** Whether a right call was refused or not answered. It may have met a limit or a lock, so it counts only if it is seen again. */
export const isRefusal = ({ kind, outcome }: Candidate): boolean => ['refused', 'broken'].includes(outcome ?? kind)

/** After some refusals nothing is expected of a key any more. If no call was ever accepted, each further refusal shows again that it does not work. */
function neverWorked({ log }: Explorer, { kind, requirement, entry }: Candidate): boolean {
  if (kind !== 'refused' || requirement !== 'keys/created-key-works') return false
  const used = log[entry] === undefined ? [] : namesIn(log[entry].step)
  return log.every(
    ({ step, seen }) =>
      !namesIn(step).some((name) => used.includes(name)) || seen.every(({ answer }) => answer.kind === 'refused'),
  )
}

let replays = 0

/**
 * Runs a sequence again, with new names, until a step shows the finding. An earlier step than the last may do so, if it breaks the same
 * requirement: after a contradiction the model may know too little to judge the last one.
 *
 * @param isStrict the last step, too, must break the same requirement
 * @returns the steps up to that one; null if none shows it
 */
export async function shows(
  x: Explorer,
  candidate: Candidate,
  steps: readonly Step[],
  isStrict = false,
): Promise<Shown | null> {
  const before = x.report
  const script = x.script
  let shown = false
  let isLast = false
  x.report = (found) => {
    if (isSame(found, candidate) && ((isLast && !isStrict) || found.requirement === candidate.requirement)) shown = true
  }
  x.script = 'again'
  // What is told must hold for a target that keeps ages in whole seconds, too.
  const isFine = keepsFineAges(x)
  if (isFine) x.keepsFineAges(false)
  replays += 1
  const mine = new Map(steps.flatMap(madeBy).map((name) => [name, `${name}r${replays}`]))
  const outcomes: Outcome[] = []
  try {
    for (const [index, step] of steps.entries()) {
      isLast = index === steps.length - 1
      const again = (one: Step): Step => renamed(one, mine, `r${replays}`)
      const next = steps.slice(index).find(isCall)
      outcomes.push(await run(x, again(step), next === undefined ? undefined : renamed(next, mine, `r${replays}`)))
      if (isLast && neverWorked(x, candidate) && outcomes.at(-1) === 'refused') shown = true
      if (shown) return { steps: steps.slice(0, index + 1), outcomes }
    }
  } finally {
    x.report = before
    x.script = script
    if (isFine) x.keepsFineAges(true)
  }
  return null
}

/** Whether pauses between sessions are shorter than where ages may be kept in whole seconds. */
export const keepsFineAges = ({ apartMs }: Explorer): boolean => apartMs < quietMs / 2

/** @param next the call after a pause */
async function run(x: Explorer, step: Step, next: CallStep | undefined): Promise<Outcome> {
  if ('wait' in step) await waitFor(x, waitMs(step), next)
  else if (isBurst(step)) await x.burst(step)
  else {
    const kind = (await x.call(step))?.answer.kind
    return kind === undefined || kind === 'unread' ? 'broken' : kind
  }
  return 'accepted'
}

/** A kept connection is closed after some seconds without calls. */
const longestQuietMs = 2000

/** Waits; on a running clock, right calls keep the connection of the next call open, because the finding may rest on it. */
async function waitFor(x: Explorer, ms: number, next: CallStep | undefined): Promise<void> {
  const keeps = !x.options.clock.controlled && next !== undefined && next.connection !== 'new'
  for (let left = ms; left > 0; left -= longestQuietMs) {
    await x.wait(keeps ? Math.min(left, longestQuietMs) : left)
    if (!keeps) return
    const { connection = 0, from } = next
    if (left > longestQuietMs)
      await unreported(x, () => x.call(list(byRoot(x), { connection, ...(from === undefined ? {} : { from }) })))
  }
}

/** Calls of no sequence show no finding. */
export async function unreported<Result>(x: Explorer, make: () => Promise<Result>): Promise<Result> {
  const { report } = x
  x.report = () => {}
  try {
    return await make()
  } finally {
    x.report = report
  }
}

/** @param names what a step makes and uses, by its old name; `mark` is put before `$unique`, and its digits before `$digits`, so that sessions and keys get new names too */
function renamed<S extends Step>(step: S, names: ReadonlyMap<string, string>, mark: string): S {
  if ('wait' in step) return step
  const text = JSON.stringify(step).replace(/\$\{?(unique|digits)\b/g, (whole, name: string) =>
    name === 'unique' ? `${mark}-${whole}` : `${mark.replace(/\D/g, '')}${whole}`,
  )
  const next = withReferences(JSON.parse(text) as Exclude<Step, { wait: string }>, (name) => names.get(name))
  const own = <One extends Pick<CallStep, 'keep' | 'connection'>>(one: One): One => {
    const { connection = 0 } = one
    const name = nameOf(one)
    return {
      ...one,
      ...(typeof connection === 'number' ? { connection: `${connection} ${mark}` } : {}),
      ...(name === undefined ? {} : { keep: { [names.get(name) ?? name]: 'result' } }),
    }
  }
  return { ...own(next), ...(isBurst(next) ? { beside: next.beside.map(own) } : {}) } as S
}
