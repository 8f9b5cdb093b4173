/** Tries a finding again on the target itself: sequences are self-contained, so shorter ones can be tried. */
import type { Candidate, Entry, Explorer } from './explorer-types.ts'
import { type CallStep, namesIn, type Step } from './step.ts'

export interface Reproduced {
  /** The shortest sequence that shows it; its last step is the one that does. */
  readonly steps: readonly Step[]
  readonly failed: number
  readonly tries: number
}

/** A finding is run so often in its shortest form. */
const runs = 3
/** One that does not repeat at once is run so often. */
const longRuns = 30
const longestSequence = 60
/** Gaps of a sequence that are waited out again. */
const notableGapMs = 900
const longestWaitMs = 8000

/** The least number of steps that show the finding again, and how often they do. */
export async function reproduce(x: Explorer, candidate: Candidate): Promise<Reproduced> {
  const entry = x.log[candidate.entry]
  if (entry === undefined) return { steps: [], failed: 1, tries: 1 }
  const short = closure(x, candidate.entry)
  if (isCreation(entry.step)) return { steps: short, failed: 1, tries: 1 }
  const whole = x.log.slice(0, candidate.entry + 1).filter((one) => one.script === candidate.script)
  const sequences: Step[][] = [
    short,
    withGaps(x, short, candidate.entry),
    withGaps(
      x,
      whole.slice(-longestSequence).map(({ step }) => step),
      candidate.entry,
    ),
  ]
  for (const steps of sequences) {
    if (!(await shows(x, candidate, steps))) continue
    const least = await shorter(x, candidate, steps)
    let failed = 0
    for (let run = 0; run < runs; run++) if (await shows(x, candidate, least)) failed += 1
    return { steps: least, failed, tries: runs }
  }
  let failed = 0
  for (let run = 0; run < longRuns && !x.isOver(); run++) if (await shows(x, candidate, short)) failed += 1
  return { steps: short, failed, tries: longRuns }
}

/** A creation that is accepted takes a place, so it is not tried again. */
function isCreation(step: Step): boolean {
  const calls = step.do === 'burst' ? step.calls : step.do === 'call' ? [step] : []
  return calls.some(({ method }) => method === 'manager/createApiKey')
}

/** Every step on which one rests: the grants and refreshes of the lines that it names. Keys stay as they are. */
export function closure(x: Explorer, at: number): Step[] {
  const entry = x.log[at]
  if (entry === undefined) return []
  const lines = new Set<number>()
  for (const name of namesIn(entry.step)) {
    const line = x.lines.get(name)
    if (line !== undefined) lines.add(line)
  }
  const before = x.log
    .slice(0, at)
    .filter((one) => one.seen.some((seen) => seen.answer.kind === 'accepted') && touches(x, one, lines))
  return [...before.map(({ step }) => step), entry.step]
}

function touches(x: Explorer, { step }: Entry, lines: ReadonlySet<number>): boolean {
  const calls = step.do === 'burst' ? step.calls : step.do === 'call' ? [step] : []
  return calls.some(
    (call) =>
      call.method === 'manager/auth' &&
      call.change === undefined &&
      [call.as ?? '', ...namesIn(call)].some((name) => lines.has(x.lines.get(name) ?? -1)),
  )
}

/** The steps with the time that passed between them. */
function withGaps(x: Explorer, steps: readonly Step[], at: number): Step[] {
  const timed = steps.flatMap((step) => x.log.slice(0, at + 1).findLast((one) => one.step === step) ?? [])
  let left = longestWaitMs
  return timed.flatMap(({ step, at: when }, index): Step[] => {
    const gap = index === 0 ? 0 : when - (timed[index - 1]?.at ?? when)
    const waited = step.do !== 'wait' && gap > notableGapMs && gap < left ? gap : 0
    left -= waited
    return waited > 0 ? [{ do: 'wait', ms: Math.ceil(waited) }, step] : [step]
  })
}

/** Leaves out one step after another, as long as the rest still shows the finding. */
async function shorter(x: Explorer, candidate: Candidate, steps: readonly Step[]): Promise<Step[]> {
  let least = [...steps]
  for (let index = least.length - 2; index >= 0 && least.length > 1; index--) {
    if (x.isOver({ calls: 200, ms: 500 })) break
    const without = least.filter((_, at) => at !== index)
    if (isWhole(without) && (await shows(x, candidate, without))) least = without
  }
  return least
}

/** Whether every pair that a step names is made by an earlier one. */
function isWhole(steps: readonly Step[]): boolean {
  const made = new Set<string>()
  const all = new Set(steps.flatMap(madeBy))
  for (const step of steps) {
    if (namesIn(step).some((name) => all.has(name) === false && /^(pair|race|crowd|burst)\d/.test(name))) return false
    if (namesIn(step).some((name) => all.has(name) && !made.has(name) && !madeBy(step).includes(name))) return false
    for (const name of madeBy(step)) made.add(name)
  }
  return true
}

function madeBy(step: Step): string[] {
  if (step.do === 'wait') return []
  const calls = step.do === 'burst' ? step.calls : [step]
  return calls.flatMap(({ as }) => as ?? [])
}

let replays = 0

/** Runs a sequence anew, with names of its own; whether its last step shows the finding. */
async function shows(x: Explorer, candidate: Candidate, steps: readonly Step[]): Promise<boolean> {
  const before = x.report
  const script = x.script
  let shown = false
  let isLast = false
  x.report = (found) => {
    if (isLast && found.requirement === candidate.requirement && found.kind === candidate.kind) shown = true
  }
  x.script = 'again'
  replays += 1
  const mine = new Map(steps.flatMap(madeBy).map((name) => [name, `${name}r${replays}`]))
  try {
    for (const [index, step] of steps.entries()) {
      isLast = index === steps.length - 1
      await run(x, renamed(step, mine))
    }
  } finally {
    x.report = before
    x.script = script
  }
  return shown
}

async function run(x: Explorer, step: Step): Promise<void> {
  if (step.do === 'wait') await x.wait(step.ms)
  else if (step.do === 'burst') await x.burst(step)
  else await x.call(step)
}

/** The same step with other names for what it makes and uses. */
export function renamed<S extends Step>(step: S, names: ReadonlyMap<string, string>): S {
  if (step.do === 'wait') return step
  if (step.do === 'burst') return { ...step, calls: step.calls.map((call) => renamed(call, names)) }
  const text = JSON.stringify(step).replace(/\$([A-Za-z][\w-]*)/g, (whole, name: string) => {
    const other = names.get(name)
    return other === undefined ? whole : `$${other}`
  })
  const next = JSON.parse(text) as CallStep
  return { ...next, ...(next.as === undefined ? {} : { as: names.get(next.as) ?? next.as }) } as S
}
