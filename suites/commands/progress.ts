/** The progress of a run or an exploration on stderr: what is done, what is under way, what it waits for, and about how long the rest takes. */
import type { RunEvent } from '../engine/conversation/conversation.ts'
import { countBy, counted } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { printable, printableLines } from '../engine/printable.ts'
import { words } from '../report/verdict-words.ts'
import type { CaseWork } from '../run/plan.ts'

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

/** A case whose work is not known: one call. */
const oneCall: CaseWork = { beside: 1, alone: 0, atOnce: 0, waitMs: 0 }

/**
 * What is counted of a run.
 *
 * @param shown how many cases the report has, including those about every answer
 * @param work what each case does; one call for every case that it does not name
 * @param hasModel whether the model makes calls besides
 */
function startTally(
  total: number,
  shown: number,
  work: ReadonlyMap<string, CaseWork> = new Map<string, CaseWork>(),
  hasModel = false,
) {
  const left = { calls: total - work.size, beside: total - work.size, alone: 0, atOnce: 0 }
  for (const one of work.values()) addWork(left, one, 1)
  return {
    total,
    shown,
    work,
    /** The calls of the cases that have not ended. */
    left,
    planned: left.calls,
    hasModel,
    /** The calls that the cases made. */
    caseCalls: newCaseCalls(),
    /** How many calls the model made lately. */
    modelSpeed: newSpeed(),
    forecast: newForecast(),
    /** By the key of a case; a repeated case counts once. */
    verdicts: new Map<string, Verdict>(),
    running: new Set<string>(),
    /** Cases that wait, each until a time in ms since 1970. */
    waiting: new Map<string, number>(),
    /** What the model makes besides the cases; null before its first call, and if it makes none. */
    model: null as { calls: number; most: number; likely: number; lastMs: number; endsMs: number } | null,
  }
}

type Left = { calls: number } & { -readonly [name in Exclude<keyof CaseWork, 'waitMs'>]: number }

function addWork(left: Left, { beside, alone, atOnce }: CaseWork, sign: 1 | -1): void {
  left.beside += sign * beside
  left.alone += sign * alone
  left.atOnce += sign * atOnce
  left.calls += sign * (beside + alone + atOnce)
}

/** Shows the progress of a run on stderr: one line that redraws itself on a terminal, a few plain ones elsewhere. */
export function startProgress(stream: Stream, { now, wall } = machine) {
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
    /** Names the target, after options and files were read and before the first call. */
    begin: (target: string): void => void stream.write(`Testing ${printable(target)}${isTerminal ? '' : '\n'}`),
    start: (...cases: Parameters<typeof startTally>): void => {
      tally = startTally(...cases)
      writtenMs = isTerminal ? Number.NEGATIVE_INFINITY : now()
    },
    say,
    listener(event: RunEvent): void {
      countEvent(tally, event, now())
      if (!isDue(event)) return
      writtenMs = now()
      write(`${sentence(tally, writtenMs)}${isTerminal ? doing(tally, wall()) : ''}`)
    },
    end,
  }
}

/** Counts an event of the run. @param nowMs on a monotonic clock */
function countEvent(tally: Tally, event: RunEvent, nowMs: number): void {
  const { running, waiting, verdicts, work, left, caseCalls } = tally
  if (event.kind === 'case-started') {
    caseCalls.begin(nowMs)
    running.add(event.key)
  } else if (event.kind === 'case-requeued') {
    // The case will make all of its calls again, so they are added to the plan.
    const { beside, alone, atOnce } = work.get(event.key) ?? oneCall
    if (work.size > 0) tally.planned += beside + alone + atOnce
  } else if (event.kind === 'calls-made') {
    if (work.size > 0) caseCalls.note(nowMs, event.calls, event.tookMs)
  } else if (event.kind === 'exchange-made') {
    if (work.size > 0) caseCalls.note(nowMs, 1, event.answeredAtMs - event.sentAtMs)
  } else if (event.kind === 'model-called') {
    const { calls, most, likely, leftMs } = event
    if (tally.model === null) tally.forecast.forget()
    tally.model = { calls, most, likely, lastMs: nowMs, endsMs: nowMs + leftMs }
    tally.modelSpeed.note(nowMs, calls)
  } else if (event.kind === 'wait-started') waiting.set(event.key, event.untilMs)
  else if (event.kind === 'wait-ended') waiting.delete(event.key)
  else if (event.kind === 'case-ended') {
    const { key, verdict, problem } = event.outcome
    // The run was ended before it.
    if (problem?.kind === 'not-run') return
    running.delete(key)
    waiting.delete(key)
    if (!verdicts.has(key)) addWork(left, work.get(key) ?? oneCall, -1)
    if (work.size === 0) caseCalls.note(nowMs, 1, 0)
    caseCalls.endCase()
    verdicts.set(key, verdict)
  }
  tally.forecast.note(nowMs, () => secondsLeft(tally, nowMs))
}

/** While the model has yet to begin, a time left below this is not shown. */
const leastSecondsBeforeModel = 20

/** `12 of 806 cases, 2 failed, about 20 s left`; `700 of 806 cases, and 120 of at most 1000 calls of the model, about 90 s left` */
function sentence({ total, shown, verdicts, model, hasModel, forecast }: Tally, nowMs: number): string {
  const parts = [...countBy(verdicts.values(), (verdict) => verdict)]
    .filter(([verdict]) => verdict !== 'passed')
    .map(([verdict, number]) => `, ${number} ${words(verdict)}`)
  const cases = `${verdicts.size === total ? shown : verdicts.size} of ${shown} cases${parts.join('')}`
  const seconds = forecast.seconds(nowMs) ?? 0
  if (model !== null)
    return `${cases}, and ${model.calls} of at most ${model.most} calls of the model${timeLeft(seconds)}`
  if (!hasModel) return `${cases}${timeLeft(seconds)}`
  return seconds < leastSecondsBeforeModel ? cases : `${cases}${timeLeft(seconds)}, not counting the model`
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

/** How long calls must have been made before their pace means something. */
const leastMs = 2000
/** An estimate is made from the pace of the last ten seconds. */
const latelyMs = 10_000

/** A longer time without a call is one in which everything waited, unless answers take as long. It says nothing about the pace. In ms. */
const longestGapMs = 1000
/** The part of the last seconds that may have been waiting. */
const mostWaited = 0.5

function newSpeed() {
  const samples: { nowMs: number; done: number; waitedMs: number }[] = []
  /** Between the first of them and the last. */
  let waitedMs = 0
  return {
    /** @param done in all so far */
    note(nowMs: number, done: number): void {
      const gapMs = nowMs - (samples.at(-1)?.nowMs ?? nowMs)
      const waited = gapMs > longestGapMs ? gapMs : 0
      samples.push({ nowMs, done, waitedMs: waited })
      waitedMs += waited
      // The last one before the window is kept: the work began then.
      while ((samples[1]?.nowMs ?? nowMs) <= nowMs - latelyMs) {
        samples.shift()
        waitedMs -= samples[0]?.waitedMs ?? 0
      }
    },
    /** How long one took lately; undefined while too little time was measured, or most of it was spent on waiting. In ms. */
    eachMs(): number | undefined {
      const { nowMs: firstMs, done: before } = samples[0] ?? { nowMs: 0, done: 0 }
      const { nowMs: lastMs, done } = samples.at(-1) ?? { nowMs: 0, done: 0 }
      if (waitedMs > mostWaited * (lastMs - firstMs)) return undefined
      return lastMs - firstMs < leastMs || done === before ? undefined : (lastMs - firstMs) / (done - before)
    },
  }
}

/** The median time of this many latest answers counts as the time of one. */
const recentAnswers = 20

/** The calls of the cases, and how long they take. */
function newCaseCalls() {
  const speed = newSpeed()
  const took: number[] = []
  let calls = 0
  let atLastEnd = 0
  let busyMs = 0
  let quickestMs = Number.POSITIVE_INFINITY
  let lastMs: number | undefined
  const answerMs = (): number => [...took].sort((one, other) => one - other)[took.length >> 1] ?? 0
  return {
    calls: () => calls,
    answerMs,
    /** How long one took lately. */
    eachMs: speed.eachMs,
    /** How long one took when most of them were under way at once. */
    quickestMs: () => quickestMs,
    lastMs: () => lastMs ?? 0,
    endCase: (): void => {
      atLastEnd = calls
    },
    /** How many were made since a case ended. */
    sinceEnd: () => calls - atLastEnd,
    /** The first case starts. Calls before it belong to no case. */
    begin(nowMs: number): void {
      if (lastMs === undefined) speed.note(0, 0)
      lastMs ??= nowMs
    },
    note(nowMs: number, more: number, tookMs: number): void {
      if (lastMs === undefined) return
      took.push(tookMs)
      if (took.length > recentAnswers) took.shift()
      busyMs += Math.min(nowMs - lastMs, Math.max(longestGapMs, 2 * answerMs()))
      lastMs = nowMs
      calls += more
      speed.note(busyMs, calls)
      quickestMs = Math.min(quickestMs, speed.eachMs() ?? quickestMs)
    },
  }
}

/** Estimates the time until the end; that of the model only once it makes calls. */
function secondsLeft(tally: Tally, nowMs: number): number | undefined {
  const { model, modelSpeed, caseCalls } = tally
  const eachMs = modelSpeed.eachMs()
  const casesMs = caseMs(tally, eachMs)
  if (model === null || casesMs === undefined) return casesMs && casesMs / 1000
  // The cases that come after it are under way: little is left for the model.
  if (caseCalls.lastMs() > model.lastMs) return casesMs / 1000
  if (eachMs === undefined) return undefined
  // It ends with its calls or with its time.
  const modelMs = Math.min((model.likely - model.calls) * eachMs, Math.max(0, model.endsMs - nowMs))
  return (casesMs + modelMs) / 1000
}

/** How many calls the model has under way at most. So a call made alone takes at most this many times the average time for one of its calls. */
const mostLanes = 4

/** How long the cases take that have not ended. @param ofModelMs how long a call of the model took lately, which is later than those of the cases */
function caseMs(
  { total, verdicts, work, left, planned, caseCalls }: Tally,
  ofModelMs = Number.POSITIVE_INFINITY,
): number | undefined {
  if (verdicts.size >= total) return 0
  const eachMs = caseCalls.eachMs()
  if (eachMs === undefined) return undefined
  const aloneMs = Math.min(Math.max(eachMs, caseCalls.answerMs()), mostLanes * ofModelMs)
  const atOnceMs = Math.min(caseCalls.quickestMs(), ofModelMs)
  // Cases under way have made some of their calls, and some that have ended are told only when all have.
  const ahead = Math.max(0, caseCalls.calls() - (planned - left.calls))
  const besideLeft = Math.max(0, left.beside - ahead)
  // The case that runs alone has made no more than what was made since the one before it ended.
  const aloneLeft = Math.max(0, left.alone - Math.min(caseCalls.sinceEnd(), Math.max(0, ahead - left.beside)))
  const callsMs = besideLeft * eachMs + aloneLeft * aloneMs + left.atOnce * atOnceMs
  // Cases wait while others make their calls.
  const waits = besideLeft === 0 ? [] : [...work].map(([key, { waitMs }]) => (verdicts.has(key) ? 0 : waitMs))
  return callsMs + Math.max(0, ...waits)
}

/** Estimates are made this often. In ms. */
const estimateEveryMs = 500
/** An estimate is shown once earlier ones have agreed with it for `part` of the time that it says is left, and for `leastMs` at least. */
const agreement = { part: 0.5, leastMs: 5000 }
/** Two estimates agree if the earlier one leaves between `from` and `to` times the time that the later one leaves. */
const sameEnd = { from: 0.6, to: 1.5 }

/** Estimates of the end, shown only once they agree: the first ones rest on the first cases, which are unlike the others. */
function newForecast() {
  let estimates: { atMs: number; endMs: number }[] = []
  let triedMs = Number.NEGATIVE_INFINITY
  return {
    forget: (): void => {
      estimates = []
    },
    /** @param estimate in seconds from now */
    note(nowMs: number, estimate: () => number | undefined): void {
      if (nowMs - triedMs < estimateEveryMs) return
      triedMs = nowMs
      const seconds = estimate()
      if (seconds !== undefined) estimates.push({ atMs: nowMs, endMs: nowMs + seconds * 1000 })
      else estimates = []
    },
    seconds(nowMs: number): number | undefined {
      const last = estimates.at(-1)
      if (last === undefined) return undefined
      const leftMs = last.endMs - last.atMs
      const isOther = ({ endMs }: { endMs: number }): boolean =>
        endMs < last.atMs + sameEnd.from * leftMs || endMs > last.atMs + sameEnd.to * leftMs
      const since = estimates[estimates.findLastIndex(isOther) + 1] ?? last
      const isAgreed = last.atMs - since.atMs >= Math.max(agreement.leastMs, agreement.part * leftMs)
      return isAgreed ? Math.max(0, last.endMs - nowMs) / 1000 : undefined
    },
  }
}

function timeLeft(seconds: number): string {
  const rounded = Math.ceil(seconds)
  if (rounded === 0) return ''
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
