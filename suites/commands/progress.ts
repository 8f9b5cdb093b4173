import type { RunEvent, RunListener } from '../engine/case/events.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import { printable, printableLines } from '../engine/printable.ts'

/** Shows the progress of a run on stderr. */
export interface Progress {
  /** Prints the first line, before anything is read. */
  begin(target: string): void
  /** @param shown how many cases the report has, including those about every answer */
  start(total: number, shown?: number): void
  /** Lines for the user. */
  say(text: string): void
  listener: RunListener
  end(): void
}

/** The shortest time between two updates, so that the line does not flicker. In ms. */
const redrawMs = 80
/** Without a terminal, a line is printed after every tenth of the cases, and not more often than this. In ms. */
const lines = 10
const lineMs = 1000
const clearLine = '\r\u001b[K'

/** One line that redraws itself on a terminal, a few plain ones elsewhere. */
export function startProgress(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
  now: () => number = () => performance.now(),
): Progress {
  const terminal = stream.isTTY === true
  let tally = startTally(0, 0)
  let writtenMs = Number.NEGATIVE_INFINITY
  const isLongAgo = (ms: number): boolean => now() - writtenMs >= ms
  const write = (text: string): void => {
    writtenMs = now()
    stream.write(text)
  }
  return {
    begin: (target) => write(`Asking ${printable(target)}${terminal ? '' : '\n'}`),
    start(total, shown = total) {
      tally = startTally(total, shown)
      writtenMs = terminal ? Number.NEGATIVE_INFINITY : now()
    },
    say: (text) => void stream.write(`${terminal ? clearLine : ''}${printableLines(text)}\n`),
    listener(event) {
      count(tally, event, now())
      if (terminal) {
        if (isLongAgo(redrawMs)) write(`${clearLine}${sentence(tally, now())}${waitsFor(tally)}`)
      } else if (event.kind === 'case-ended' && isTenth(tally) && isLongAgo(lineMs)) {
        write(`${sentence(tally, now())}\n`)
      }
    },
    end: () => void (terminal && stream.write(clearLine)),
  }
}

/** The state of a run that is going on. */
interface Tally {
  total: number
  /** How many cases the report has. */
  shown: number
  /** By the key of a case; one that is asked again counts once. */
  verdicts: Map<string, Verdict>
  running: Set<string>
  /** When the first case started. */
  startedMs: number | null
}

const startTally = (total: number, shown: number): Tally => ({
  total,
  shown,
  verdicts: new Map(),
  running: new Set(),
  startedMs: null,
})

function count(tally: Tally, event: RunEvent, nowMs: number): void {
  if (event.kind === 'case-started') {
    tally.startedMs ??= nowMs
    tally.running.add(event.key)
  }
  if (event.kind !== 'case-ended') return
  const { key, verdict } = event.outcome
  tally.running.delete(key)
  tally.verdicts.set(key, verdict)
}

function countByVerdict({ verdicts }: Tally): Map<Verdict, number> {
  const counts = new Map<Verdict, number>()
  for (const verdict of verdicts.values()) counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
  return counts
}

function sentence(tally: Tally, nowMs: number): string {
  const { total, shown, startedMs } = tally
  const done = tally.verdicts.size
  const parts = [...countByVerdict(tally)]
    .filter(([verdict]) => verdict !== 'passed')
    .map(([verdict, number]) => `, ${number} ${verdict.replaceAll('-', ' ')}`)
  const left = remaining(done, total, nowMs - (startedMs ?? nowMs))
  return `${done === total ? shown : done} of ${shown} cases${parts.join('')}${left}`
}

function waitsFor({ running }: Tally): string {
  const [key] = running
  return key === undefined ? '' : `; now ${printable(key)}`
}

const isTenth = ({ verdicts: { size: done }, total }: Tally): boolean =>
  Math.floor((done * lines) / total) > Math.floor(((done - 1) * lines) / total)

/** The part of a run that must be done before an estimate is shown. */
const leastPart = 0.05
const leastMs = 2000

/** Estimates the remaining time from the time that cases took so far. */
function remaining(done: number, total: number, passedMs: number): string {
  if (done < total * leastPart || done >= total || passedMs < leastMs) return ''
  const seconds = Math.ceil(((passedMs / done) * (total - done)) / 1000)
  return seconds >= 90 ? `, about ${Math.round(seconds / 60)} min left` : `, about ${seconds} s left`
}
