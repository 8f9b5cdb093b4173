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
export interface Progress extends Pick<ReturnType<typeof progressOn>, 'say' | 'end'> {
  /** Names the target, after options and files were read and before the first call. */
  begin(target: string): void
  /**
   * @param shown how many cases the report has, including those about every answer
   * @param work how much work each case is, for the estimate
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

interface Clocks {
  /** In ms, on a monotonic clock. */
  now(): number
  /** In ms since 1970. */
  wall(): number
}

const machine: Clocks = { now: () => performance.now(), wall: () => Date.now() }

/** One line that redraws itself on a terminal, a few plain ones elsewhere. */
export function startProgress(stream: Stream, { now, wall }: Clocks = machine): Progress {
  const { isTerminal, write, say, end } = progressOn(stream)
  let tally = startTally(0, 0)
  let writtenMs = Number.NEGATIVE_INFINITY
  const isDue = ({ kind }: RunEvent): boolean => {
    const passedMs = now() - writtenMs
    if (isTerminal) return passedMs >= redrawMs
    if (kind === 'model-called') return passedMs >= modelLineMs
    return kind === 'case-ended' && isTenth(tally) && passedMs >= plainLineMs
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
      write(`${sentence(tally, now())}${isTerminal ? doing(tally, wall()) : ''}`)
    },
    end,
  }
}

function isTenth(tally: Tally): boolean {
  const done = tally.verdicts.size
  return Math.floor((done * plainLines) / tally.total) > Math.floor(((done - 1) * plainLines) / tally.total)
}

/** What is counted of a run. */
interface Tally {
  total: number
  /** How many cases the report has: those that run, and those about every answer. */
  shown: number
  /** By the key of a case; a repeated case counts once. */
  verdicts: Map<string, Verdict>
  running: Set<string>
  /** Cases that wait, each until a time in ms since 1970. */
  waiting: Map<string, number>
  /** When the first case started. */
  startedMs: number | null
  /** How much work each case is, in calls one after another. */
  work: ReadonlyMap<string, number>
  allWork: number
  workLeft: number
  /** What the model makes besides the cases; null before its first call, and if it makes none. */
  model: { calls: number; most: number; startedMs: number; lastMs: number } | null
  /** The model has calls to make. */
  hasModel: boolean
}

/** @param work 1 for every case that it does not name */
function startTally(
  total: number,
  shown: number,
  work: ReadonlyMap<string, number> = new Map(),
  hasModel = false,
): Tally {
  const allWork = [...work.values()].reduce((sum, calls) => sum + calls, total - work.size)
  return {
    total,
    shown,
    verdicts: new Map(),
    running: new Set(),
    waiting: new Map(),
    startedMs: null,
    work,
    allWork,
    workLeft: allWork,
    model: null,
    hasModel,
  }
}

/** Counts an event of the run. @param nowMs on a monotonic clock */
function countEvent(tally: Tally, event: RunEvent, nowMs: number): void {
  if (event.kind === 'case-started') {
    tally.startedMs ??= nowMs
    tally.running.add(event.key)
  }
  if (event.kind === 'model-called') {
    const { calls, most } = event
    tally.model = { calls, most, startedMs: tally.model?.startedMs ?? nowMs, lastMs: nowMs }
  }
  if (event.kind === 'wait-started') tally.waiting.set(event.key, event.untilMs)
  if (event.kind === 'wait-ended') tally.waiting.delete(event.key)
  if (event.kind !== 'case-ended') return
  const { key, verdict } = event.outcome
  tally.running.delete(key)
  tally.waiting.delete(key)
  if (!tally.verdicts.has(key)) tally.workLeft -= tally.work.get(key) ?? 1
  tally.verdicts.set(key, verdict)
}

/** `12 of 806 cases, 2 failed, about 20 s left`; `700 of 806 cases, and 120 of at most 1000 calls of the model, about 90 s left` */
function sentence(tally: Tally, nowMs: number): string {
  const { total, shown } = tally
  const done = tally.verdicts.size
  const parts = [...countBy(tally.verdicts.values(), (verdict) => verdict)]
    .filter(([verdict]) => verdict !== 'passed')
    .map(([verdict, number]) => `, ${number} ${words(verdict)}`)
  const cases = `${done === total ? shown : done} of ${shown} cases${parts.join('')}`
  if (tally.model === null) return `${cases}${timeLeft(caseSeconds(tally, nowMs), tally.hasModel)}`
  const { calls, most } = tally.model
  const seconds = caseSeconds(tally, nowMs) ?? 0
  return `${cases}, and ${calls} of at most ${most} calls of the model${timeLeft(seconds + modelSeconds(tally.model), false)}`
}

/**
 * What the run does now: a case and how many others run with it, or what is waited for if nothing else runs.
 *
 * @param wallMs now, in ms since 1970
 */
function doing({ running, waiting }: Tally, wallMs: number): string {
  const busy = [...running].filter((key) => !waiting.has(key))
  const [first] = busy
  if (first !== undefined) {
    const others = busy.length === 1 ? '' : ` and ${busy.length - 1} more`
    return `; now ${printable(first)}${others}${waiting.size === 0 ? '' : `, ${waiting.size} waiting`}`
  }
  const [next] = [...waiting].sort(([, one], [, other]) => one - other)
  if (next === undefined) return ''
  const [key, untilMs] = next
  return `; waiting ${Math.max(0, Math.ceil((untilMs - wallMs) / 1000))} s for ${printable(key)}`
}

/** The part of a run that must be done before an estimate is shown. */
const leastPart = 0.05
const leastMs = 2000

/** Estimates the time that the other cases take from the time of those that ended; the calls of the model are no part of it. */
function caseSeconds(tally: Tally, nowMs: number): number | undefined {
  const { total, startedMs, allWork, workLeft, model } = tally
  const done = tally.verdicts.size
  const ofModelMs = model === null ? 0 : model.lastMs - model.startedMs
  const passedMs = nowMs - (startedMs ?? nowMs) - ofModelMs
  if (done < total * leastPart || done >= total || passedMs < leastMs) return undefined
  return ((passedMs / (allWork - workLeft)) * workLeft) / 1000
}

function modelSeconds({ calls, most, startedMs, lastMs }: NonNullable<Tally['model']>): number {
  return ((lastMs - startedMs) / calls / 1000) * (most - calls)
}

function timeLeft(seconds: number | undefined, beforeModel: boolean): string {
  if (seconds === undefined) return ''
  const rounded = Math.ceil(seconds)
  const time = rounded >= 90 ? `${Math.round(rounded / 60)} min` : `${rounded} s`
  return `, about ${time} left${beforeModel ? ' without the model' : ''}`
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
