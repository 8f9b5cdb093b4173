import type { RunListener } from '../engine/conversation/conversation.ts'
import { printable, printableLines } from '../engine/printable.ts'
import { countEvent, doing, doneOf, sentence, startTally, type Tally } from './tally.ts'

/** Shows the progress of a run on stderr. */
export interface Progress {
  /** Names the target, after options and files were read and before the first call. */
  begin(target: string): void
  /**
   * @param shown how many cases the report has, including those about every answer
   * @param work how much work each case is, for the estimate
   * @param hasModel whether the model makes calls besides
   */
  start(total: number, shown: number, work?: ReadonlyMap<string, number>, hasModel?: boolean): void
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
/** While the model makes its calls, a line is printed this often. In ms. */
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
export const startProgress = (stream: Stream, clocks: Clocks = machine): Progress =>
  stream.isTTY === true ? onTerminal(stream, clocks) : inLines(stream, clocks)

function onTerminal(stream: Stream, { now, wall }: Clocks): Progress {
  let tally = startTally(0, 0)
  let writtenMs = Number.NEGATIVE_INFINITY
  return {
    begin: (target) => void stream.write(`Testing ${printable(target)}`),
    start: (...cases) => {
      tally = startTally(...cases)
      writtenMs = Number.NEGATIVE_INFINITY
    },
    say: (text) => void stream.write(`${clearLine}${printableLines(text)}\n`),
    listener(event) {
      countEvent(tally, event, now())
      if (now() - writtenMs < redrawMs) return
      writtenMs = now()
      stream.write(`${clearLine}${sentence(tally, now())}${doing(tally, wall())}`)
    },
    end: () => void stream.write(clearLine),
  }
}

function inLines(stream: Stream, { now }: Clocks): Progress {
  let tally = startTally(0, 0)
  let writtenMs = Number.NEGATIVE_INFINITY
  return {
    begin: (target) => void stream.write(`Testing ${printable(target)}\n`),
    start: (...cases) => {
      tally = startTally(...cases)
      writtenMs = now()
    },
    say: (text) => void stream.write(`${printableLines(text)}\n`),
    listener(event) {
      countEvent(tally, event, now())
      const passedMs = now() - writtenMs
      const isDue =
        event.kind === 'model-called'
          ? passedMs >= modelLineMs
          : event.kind === 'case-ended' && isTenth(tally) && passedMs >= lineMs
      if (!isDue) return
      writtenMs = now()
      stream.write(`${sentence(tally, now())}\n`)
    },
    end: () => {},
  }
}

function isTenth(tally: Tally): boolean {
  const done = doneOf(tally)
  return Math.floor((done * lines) / tally.total) > Math.floor(((done - 1) * lines) / tally.total)
}
