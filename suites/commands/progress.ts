import type { RunListener } from '../engine/case/events.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import { printable, printableLines } from '../engine/printable.ts'

/** Tells how far a run is, on stderr. */
export interface Progress {
  /** The first sign of life, before anything is read. */
  begin(target: string): void
  /** @param shown how many cases the report has: with those that are made from the answers to all others */
  start(total: number, shown?: number): void
  /** Lines for the user. */
  say(text: string): void
  listener: RunListener
  end(): void
}

/** Below this the line would only flicker. */
const redrawMs = 80
/** Without a terminal a line comes at every tenth of the cases, and not more often than this. */
const lines = 10
const lineMs = 1000
const clearLine = '\r\u001b[K'

/** One line that redraws itself on a terminal, a few plain ones elsewhere. */
export function startProgress(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
  now: () => number = () => performance.now(),
): Progress {
  const terminal = stream.isTTY === true
  const counts = new Map<Verdict, number>()
  const running = new Set<string>()
  let total = 0
  let shown = 0
  let done = 0
  let startedMs = 0
  let saidMs = 0
  let drawnMs = Number.NEGATIVE_INFINITY
  const sentence = (): string => {
    const parts = [...counts]
      .filter(([verdict]) => verdict !== 'passed')
      .map(([verdict, count]) => `, ${count} ${verdict.replaceAll('-', ' ')}`)
    return `${done === total ? shown : done} of ${shown} cases${parts.join('')}${remaining(done, total, now() - startedMs)}`
  }
  const draw = (): void => {
    if (now() - drawnMs < redrawMs) return
    drawnMs = now()
    const [waitsFor] = running
    stream.write(`${clearLine}${sentence()}${waitsFor === undefined ? '' : `; now ${printable(waitsFor)}`}`)
  }
  return {
    begin: (target) => void stream.write(`Asking ${printable(target)}${terminal ? '' : '\n'}`),
    start(cases, all = cases) {
      counts.clear()
      running.clear()
      done = 0
      total = cases
      shown = all
      saidMs = now()
    },
    say: (text) => void stream.write(`${terminal ? clearLine : ''}${printableLines(text)}\n`),
    listener(event) {
      if (event.kind === 'case-started') {
        if (done === 0 && running.size === 0) startedMs = now()
        running.add(event.key)
      }
      if (event.kind === 'case-ended') {
        running.delete(event.outcome.key)
        done += 1
        const { verdict } = event.outcome
        counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
      }
      if (terminal) draw()
      else if (event.kind === 'case-ended' && isTenth(done, total) && now() - saidMs >= lineMs) {
        saidMs = now()
        stream.write(`${sentence()}\n`)
      }
    },
    end: () => void (terminal && stream.write(clearLine)),
  }
}

const isTenth = (done: number, total: number): boolean =>
  Math.floor((done * lines) / total) > Math.floor(((done - 1) * lines) / total)

/** An estimate is a guess before this part is done. */
const leastPart = 0.05
const leastMs = 2000

/** About how long it still takes, as long as cases take what they took until now. */
function remaining(done: number, total: number, passedMs: number): string {
  if (done < total * leastPart || done >= total || passedMs < leastMs) return ''
  const seconds = Math.ceil(((passedMs / done) * (total - done)) / 1000)
  return seconds >= 90 ? `, about ${Math.round(seconds / 60)} min left` : `, about ${seconds} s left`
}
