/** The progress of a run or an exploration on stderr: what is done, what is under way, what it waits for, and about how long the rest takes. */
import type { RunEvent, RunListener } from '../engine/conversation/conversation.ts'
import { countBy, counted } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { printable, printableLines } from '../engine/printable.ts'
import { words } from '../report/verdict-words.ts'

/** A stream that shows progress: one line that redraws itself on a terminal, plain lines elsewhere. */
function progressOn(stream: Stream) {
  const isTerminal = stream.isTTY === true
  return {
    isTerminal,
    write: (text: string) => stream.write(isTerminal ? `${clearLine}${text}` : `${text}\n`),
    /** Lines for the user. */
    say: (text: string): void => void stream.write(`${isTerminal ? clearLine : ''}${printableLines(text)}\n`),
    end: (): void => void (isTerminal && stream.write(clearLine)),
  }
}

/** Shows the progress of a run on stderr. */
interface Progress extends Pick<ReturnType<typeof progressOn>, 'say' | 'end'> {
  /** Names the target, after options and files were read and before the first call. */
  begin(target: string): void
  /**
   * @param shown how many cases the report has, including those about every answer
   * @param work how much work each case is, in calls one after another; 1 for every case that it does not name
   * @param hasModel whether the model makes calls besides
   */
  start(total: number, shown: number, work?: ReadonlyMap<string, number>, hasModel?: boolean): void
  listener: RunListener
}

/** The shortest time between two updates, so that the line does not flicker. In ms. */
const redrawMs = 80
/** Without a terminal, a line is printed after every tenth of the cases, but not more often than once in `plainLineMs`. */
const plainLines = 10
const plainLineMs = 1000
/** Without a terminal, a line is printed this often while the model makes its calls. In ms. */
const modelLineMs = 15_000
const clearLine = '\r\u001b[K'

type Stream = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>

/** In ms: on a monotonic clock, and since 1970. */
const machine = { now: (): number => performance.now(), wall: (): number => Date.now() }

type Tally = ReturnType<typeof startTally>

/** What is counted of a run. */
function startTally(...[total, shown, work = new Map(), hasModel = false]: Parameters<Progress['start']>) {
  const allWork = [...work.values()].reduce((sum, calls) => sum + calls, total - work.size)
  return {
    total,
    shown,
    work,
    allWork,
    workLeft: allWork,
    hasModel,
    /** How much was done lately, of the work of the cases and of the calls of the model. */
    speeds: { cases: newSpeed(), model: newSpeed() },
    /** By the key of a case; a repeated case counts once. */
    verdicts: new Map<string, Verdict>(),
    running: new Set<string>(),
    /** Cases that wait, each until a time in ms since 1970. */
    waiting: new Map<string, number>(),
    /** What the model makes besides the cases; null before its first call, and if it makes none. */
    model: null as { calls: number; most: number; leftMs: number; startedMs: number; lastMs: number } | null,
  }
}

/** One line that redraws itself on a terminal, a few plain ones elsewhere. */
export function startProgress(stream: Stream, { now, wall } = machine): Progress {
  const { isTerminal, write, say, end } = progressOn(stream)
  let tally = startTally(0, 0)
  let writtenMs = Number.NEGATIVE_INFINITY
  const isDue = ({ kind }: RunEvent): boolean => {
    const passedMs = now() - writtenMs
    if (isTerminal) return passedMs >= redrawMs
    if (kind === 'model-called') return passedMs >= modelLineMs
    const tenths = (done: number): number => Math.floor((done * plainLines) / tally.total)
    const done = tally.verdicts.size
    return kind === 'case-ended' && tenths(done) > tenths(done - 1) && passedMs >= plainLineMs
  }
  return {
    begin: (target) => void stream.write(`Testing ${printable(target)}${isTerminal ? '' : '\n'}`),
    start: (...cases) => {
      tally = startTally(...cases)
      writtenMs = isTerminal ? Number.NEGATIVE_INFINITY : now()
    },
    say,
    listener(event) {
      countEvent(tally, event, now())
      if (!isDue(event)) return
      writtenMs = now()
      write(`${sentence(tally)}${isTerminal ? doing(tally, wall()) : ''}`)
    },
    end,
  }
}

/** Counts an event of the run. @param nowMs on a monotonic clock */
function countEvent(tally: Tally, event: RunEvent, nowMs: number): void {
  const { running, waiting, verdicts, work } = tally
  if (event.kind === 'case-started') {
    if (tally.running.size + tally.verdicts.size === 0) tally.speeds.cases.note(nowMs, 0)
    running.add(event.key)
  } else if (event.kind === 'model-called') {
    const { calls, most, leftMs } = event
    tally.model = { calls, most, leftMs, startedMs: tally.model?.startedMs ?? nowMs, lastMs: nowMs }
    tally.speeds.model.note(nowMs, calls)
  } else if (event.kind === 'wait-started') waiting.set(event.key, event.untilMs)
  else if (event.kind === 'wait-ended') waiting.delete(event.key)
  else if (event.kind === 'case-ended') {
    const { key, verdict } = event.outcome
    running.delete(key)
    waiting.delete(key)
    if (!verdicts.has(key)) tally.workLeft -= work.get(key) ?? 1
    verdicts.set(key, verdict)
    tally.speeds.cases.note(nowMs - modelMs(tally), tally.allWork - tally.workLeft)
  }
}

/** `12 of 806 cases, 2 failed, about 20 s left`; `700 of 806 cases, and 120 of at most 1000 calls of the model, about 90 s left` */
function sentence(tally: Tally): string {
  const { total, shown, verdicts, model, hasModel } = tally
  const parts = [...countBy(verdicts.values(), (verdict) => verdict)]
    .filter(([verdict]) => verdict !== 'passed')
    .map(([verdict, number]) => `, ${number} ${words(verdict)}`)
  const cases = `${verdicts.size === total ? shown : verdicts.size} of ${shown} cases${parts.join('')}`
  const ofCases = verdicts.size >= total ? 0 : caseSeconds(tally)
  if (model === null)
    return `${cases}${timeLeft(ofCases || undefined)}${ofCases && hasModel ? ' without the model' : ''}`
  const ofModel = modelSeconds(tally)
  const seconds = ofCases === undefined || ofModel === undefined ? undefined : ofCases + ofModel
  return `${cases}, and ${model.calls} of at most ${model.most} calls of the model${timeLeft(seconds)}`
}

/**
 * What the run does now: a case and how many others run with it, or what is waited for if nothing else runs.
 *
 * @param wallMs now, in ms since 1970
 */
function doing({ running, waiting }: Tally, wallMs: number): string {
  const [first, ...others] = [...running].filter((key) => !waiting.has(key))
  if (first !== undefined) {
    const more = others.length === 0 ? '' : ` and ${others.length} more`
    return `; now ${printable(first)}${more}${waiting.size === 0 ? '' : `, ${waiting.size} waiting`}`
  }
  const [next] = [...waiting].sort(([, one], [, other]) => one - other)
  if (next === undefined) return ''
  const [key, untilMs] = next
  return `; waiting ${Math.max(0, Math.ceil((untilMs - wallMs) / 1000))} s for ${printable(key)}`
}

/** The part of a run that must be done before an estimate is shown. */
const leastPart = 0.05
const leastMs = 2000
/** An estimate is made from the pace of the last ten seconds. */
const latelyMs = 10_000

function newSpeed() {
  const samples: [ms: number, done: number][] = []
  return {
    /** @param done in all so far */
    note(nowMs: number, done: number): void {
      samples.push([nowMs, done])
      // The last one before the window is kept: the work began then.
      while ((samples[1]?.[0] ?? nowMs) <= nowMs - latelyMs) samples.shift()
    },
    /** How much was done in a millisecond lately; undefined as long as that means nothing. */
    perMs(): number | undefined {
      const [firstMs = 0, before = 0] = samples[0] ?? []
      const [lastMs = 0, done = 0] = samples.at(-1) ?? []
      return lastMs - firstMs < leastMs ? undefined : (done - before) / (lastMs - firstMs)
    },
  }
}

/** How long the model has been making its calls. */
const modelMs = ({ model }: Tally): number => (model === null ? 0 : model.lastMs - model.startedMs)

/** Estimates the time that the other cases take; the calls of the model are not counted. */
function caseSeconds({ total, verdicts, workLeft, speeds }: Tally): number | undefined {
  const { size: done } = verdicts
  const perMs = speeds.cases.perMs()
  if (done < total * leastPart || perMs === undefined || perMs === 0) return undefined
  return workLeft / perMs / 1000
}

/** The model ends with its calls or with its time. */
function modelSeconds({ model, speeds }: Tally): number | undefined {
  const perMs = speeds.model.perMs()
  if (model === null || perMs === undefined || perMs === 0) return undefined
  return Math.min((model.most - model.calls) / perMs, model.leftMs) / 1000
}

function timeLeft(seconds: number | undefined): string {
  if (seconds === undefined) return ''
  const rounded = Math.ceil(seconds)
  return `, about ${rounded >= 90 ? `${Math.round(rounded / 60)} min` : `${rounded} s`} left`
}

/** The shortest time between two updates of a terminal, and between two lines elsewhere. In ms. */
const exploreWaitMs = { onTerminal: 200, elsewhere: 15_000 }

/** Shows the progress of an exploration on stderr. @param now in ms, on a monotonic clock */
export function startExploreProgress(
  stream: Stream,
  { target, seconds }: { target: string; seconds: number },
  now = machine.now,
) {
  const { isTerminal, write, say, end } = progressOn(stream)
  const begunMs = now()
  let writtenMs = begunMs
  stream.write(
    `Exploring ${printable(target)} for ${seconds} s; most calls are wrong on purpose, and may look like an attack in its log\n`,
  )
  return {
    /** A call is made: this many with it. */
    called(calls: number): void {
      if (now() - writtenMs < (isTerminal ? exploreWaitMs.onTerminal : exploreWaitMs.elsewhere)) return
      writtenMs = now()
      const elapsed = Math.round((writtenMs - begunMs) / 1000)
      const time = elapsed > seconds ? `${elapsed} s, repeating what was found` : `${elapsed} of ${seconds} s`
      write(`${counted(calls, 'call')}, ${time}`)
    },
    say,
    end,
  }
}
